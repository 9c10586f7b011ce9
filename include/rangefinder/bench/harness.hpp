// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/worker.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Runs the A/B benchmarks of a worker: correctness check, timing, regression gate; docs/reference/bench.md has
// commands, rules and formats.
namespace rangefinder::bench {

/// What the harness ends with.
enum ExitCode : int {
  kAllMet = 0,
  kFailure = 1,     ///< a wrong output, a crash, a timeout
  kRegression = 2,  ///< worse than stored, or below the goal
  kWrongUse = 3,
  kAllSkipped = 4,
  kOutOfTime = 5,  ///< the time limit came first; a run that resumes gives the verdict
};

/// Where the worker is: `given`, else RANGEFINDER_WORKER, else `rangefinder-workloads` beside `command` (a path).
RANGEFINDER_EXPORT Result<std::string> find_worker(const std::string& given, const std::string& command);

/// A worker's benchmarks whose names fit `targets`, without their factories. A target is "all", a chapter,
/// "chapter:name", a name, or either with * and ?; none: all. kNotFound, with the nearest name, for a target that fits
/// none.
RANGEFINDER_EXPORT Result<std::vector<Benchmark>> list_targets(const std::string& worker,
                                                               const std::vector<std::string>& targets = {});
/// The same as JSON, with `schema_version`.
RANGEFINDER_EXPORT std::string targets_json(const std::vector<Benchmark>& benchmarks);

/// How to run.
struct RunOptions {
  std::string worker;
  std::vector<std::string> targets{"all"};
  std::string device = "auto";  ///< "cpu", "cuda", or "auto": cuda where the worker has a device
  std::string size;             ///< "smoke", "cpu", "gpu"; empty: gpu on cuda, else cpu
  ProfileLevel profile = ProfileLevel::kNone;
  /// What `rangefinder measure-peaks -o` wrote on this machine: tells kernels that compute from those that move data,
  /// how much of the machine's FLOP/s steps use, and `plan` how fast steps are. Empty: not measured.
  std::string peaks;
  std::int64_t iterations = 0;  ///< 0: each benchmark's own
  std::int64_t warmup = -1;     ///< -1: each benchmark's own
  std::uint64_t seed = 42;
  double timeout_s = 600;  ///< for each answer of a worker
  /// Processes of each variant, 1 to 1024; benchmarks that need more are skipped, benchmarks of one process get one.
  unsigned ranks = 1;
  /// Of several ranks: all are ended when those that have not answered sleep for so many seconds, in the same step.
  /// One that ended, threw or was stopped by a signal is noticed without it.
  double stall_s = 7;
  bool flush_cache = false;  ///< before each step, timed or not, untimed
  /// Of the electricity here, in grams of CO2e a kWh: results tell the grams of the devices' energy. 0: not told.
  double carbon_intensity = 0;
  /// Bytes that the outputs of a variant may take on disk while they are compared; what exceeds them fails the row.
  std::uint64_t disk_limit = std::uint64_t{8} << 30;
  /// Of `plan`: floating point operations a second that steps are assumed to reach. 0: those in float32 of `peaks`,
  /// else 1e10 on a CPU, where steps run on one thread, and 3e13 on a CUDA device.
  double assumed_flops = 0;
  /// Only the correctness check decides: times are measured and shown, goals and expectations are not checked.
  bool validate = false;
  /// Results, logs, captures and traces go here.
  std::string out = "bench-out";
  /// Goes on with the results in `out`: what is there and did not fail is not run again.
  bool resume = false;
  /// No benchmark is begun when the longest so far would end after so many seconds; one of each family comes first.
  /// 0: no limit.
  double time_limit_s = 0;
  /// Stored expectations, or a folder with expectations_KEY.json; empty: that file in the working directory.
  std::string expectations;
  /// Compares and stores ratios, baseline / optimized, of this processor's family in the place of this machine's
  /// figures: for a file that many machines share. KEY is the family then. What regressed is measured again, up to
  /// twice. Ends with kAllSkipped where nothing is stored to compare with. Not on a device.
  bool ratios = false;
  bool update_expectations = false;
  bool accept_regressions = false;
  bool accept_provenance = false;

  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};
  /// Looked at ten times a second; true ends the workers and fails what has not run.
  std::function<bool()> cancelled{};
};

/// How text looks.
struct TextStyle {
  bool utf8 = true;
  bool colour = false;
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
};

/// Results in the schema of docs/reference/bench-schema.json.
struct RunOutcome {
  int exit_code = kAllMet;
  std::string json;
  std::vector<std::string> notes;  ///< what became of expectations, what was refused
};

/// Runs benchmarks: one process per variant, or several ranks, checked for correctness, then timed in turns, then
/// profiled if asked. Leaves results.json and results.md in `out`, whole after each benchmark.
///
/// Errors:  kInvalidArgument, kNotFound for wrong use; kIo; kUnreadable, kUnsupported for the file of peaks. A
/// benchmark
///          that fails is a failed row, not an error.
/// Threads: starts processes; none of its own.
RANGEFINDER_EXPORT Result<RunOutcome> run(const RunOptions& options);

/// What `run` would do and take.
struct PlanOutcome {
  int exit_code = kAllMet;  ///< kFailure: a benchmark is over the limits
  std::string text;         ///< for people, two lines per benchmark; then what was assumed, and who is over which limit
  std::string json;
};

/// The longest correctness check that `plan` finds in order, in seconds.
inline constexpr double kCheckLimit_s = 60;

/// What `run` would do, and by the benchmarks' own estimates what it would take: bytes of outputs on disk, FLOPs and
/// bytes of a step, seconds of the correctness check and of timing. A benchmark is over the limits when its
/// outputs exceed `disk_limit` or its check kCheckLimit_s; what it declares no estimate of is "not known", and never
/// over.
///
/// Errors: those of `run`; kNotFound for a file of peaks without the device's.
RANGEFINDER_EXPORT Result<PlanOutcome> plan(const RunOptions& options);

/// Results as a table for people, and as Markdown. `json` is what `run` gave or wrote.
RANGEFINDER_EXPORT Result<std::string> results_table(const std::string& json, const TextStyle& style);
RANGEFINDER_EXPORT Result<std::string> results_markdown(const std::string& json);

/// The recommendations document of measured rows, Markdown: where the time goes, which resource bounds it and by what
/// evidence, before and after, what to try next. What was not measured is "-".
RANGEFINDER_EXPORT Result<std::string> recommendations(const std::string& json);

/// Whether a candidate keeps up.
struct PerformanceComparison {
  enum class Verdict {
    kKeptUp,
    kFellBehind,
    kUnclear,  ///< slower, and so is the baseline variant of the same run: the machine, or code that both variants
               ///< share
  };
  struct Row {
    std::string name;
    double baseline = 0;  ///< tokens a second, else samples, else steps
    double candidate = 0;
    std::string unit;
    bool kept = false;  ///< did not fall behind
    Verdict verdict = Verdict::kFellBehind;
    double ratio = 0;  ///< candidate / baseline
    double low = 0;    ///< its 95 % interval; both 0 where the files have no samples
    double high = 0;
    double control = 0;  ///< the same ratio of the baseline variants; 0: not measured
  };
  std::vector<Row> rows;
  bool kept = true;  ///< all rows
};

/// Compares rates of two files of results, optimized variant with optimized variant. A row falls behind when the whole
/// 95 % bootstrap interval of the ratio is below `share`, and still is when the ratio is divided by that of the
/// baseline variants (where those slowed down). Without samples the ratio alone decides: files that hold nothing but
/// {"tokens_per_s": N} are taken, too. An example that the candidate lacks falls behind. kInvalidArgument when there is
/// nothing to compare.
RANGEFINDER_EXPORT Result<PerformanceComparison> compare_performance(const std::string& baseline_path,
                                                                     const std::string& candidate_path,
                                                                     double share = 0.95);
/// "kept up", "fell behind", "unclear"; static.
RANGEFINDER_EXPORT const char* to_string(PerformanceComparison::Verdict verdict) noexcept;
/// {"schema_version", "kept", "rows": [{"name", "unit", "baseline", "candidate", "ratio", "low", "high", "control",
/// "verdict"}]}; what is not known is null.
RANGEFINDER_EXPORT std::string comparison_json(const PerformanceComparison& comparison);

}  // namespace rangefinder::bench
