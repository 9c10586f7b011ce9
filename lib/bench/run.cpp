// SPDX-License-Identifier: MIT
#include "base/cpu_key.hpp"
#include "base/file.hpp"
#include "bench/benchmark_json.hpp"
#include "bench/hardware.hpp"
#include "bench/measure.hpp"
#include "bench/plan.hpp"
#include "bench/rank_figures.hpp"
#include "bench/results.hpp"
#include "bench/saved_results.hpp"
#include "bench/targets.hpp"

#include <rangefinder/bench/harness.hpp>
#include <rangefinder/bench/measure_peaks.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>

namespace rangefinder::bench {
namespace {

/// What is run, where, and against what.
struct Plan {
  RunOptions options;
  Description worker;
  std::vector<Benchmark> benchmarks;
  Setup setup;
  Provenance provenance;         ///< of the run; a row has its own iterations and warm-up
  std::string expectations_key;  ///< of this machine, or of its processor's family
  std::string expectations_path;
  std::optional<MachinePeaks> peaks;
};

constexpr int kTriesOfRatios = 3;
constexpr unsigned kMaxRanks = 1024;

Error wrong(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

Status check(const RunOptions& options) {
  constexpr std::array<std::string_view, 3> kDevices{"auto", "cpu", "cuda"};
  constexpr std::array<std::string_view, 4> kSizes{"", "smoke", "cpu", "gpu"};
  if (std::find(kDevices.begin(), kDevices.end(), options.device) == kDevices.end())
    return wrong("no device \"" + options.device + "\": auto, cpu or cuda");
  if (std::find(kSizes.begin(), kSizes.end(), options.size) == kSizes.end())
    return wrong("no size \"" + options.size + "\": smoke, cpu or gpu");
  if (options.iterations < 0 || options.iterations > 1'000'000 || options.warmup > 1'000'000)
    return wrong("iterations and warm-up are at most a million");
  if (!(options.timeout_s > 0 && options.timeout_s < 1e6)) return wrong("a timeout is more than 0 s and less than 1e6");
  if (!(options.time_limit_s >= 0 && options.time_limit_s < 1e6)) return wrong("a time limit is 0, for none, to 1e6 s");
  if (!(options.carbon_intensity >= 0 && options.carbon_intensity < 1e6))
    return wrong("a carbon intensity is 0, for none, to 1e6 g a kWh");
  if (options.ranks < 1 || options.ranks > kMaxRanks) return wrong("a variant has 1 to 1024 ranks");
  if (!(options.stall_s > 0 && options.stall_s < 1e6)) return wrong("a stall is more than 0 s and less than 1e6");
  if ((options.accept_regressions || options.accept_provenance) && !options.update_expectations)
    return wrong("nothing is accepted without --update-expectations");
  if (options.validate && options.update_expectations)
    return wrong("--validate checks outputs only; leave it out to use --update-expectations");
  return {};
}

/// Of the file that `options` names, or of the one for a key in the folder that they name.
std::string path_of_expectations(const RunOptions& options, const std::string& key) {
  std::string name = "expectations_" + key + ".json";
  if (options.expectations.empty()) return name;
  std::error_code ignored;
  return std::filesystem::is_directory(options.expectations, ignored) ? options.expectations + "/" + name
                                                                      : options.expectations;
}

Result<Plan> make_plan(const RunOptions& options) {
  if (Status status = check(options); !status.ok()) return status.error();
  Plan plan;
  plan.options = options;
  Result<Description> description = describe(options.worker, options.cancelled);
  if (!description) return description.error();
  plan.worker = std::move(*description);
  if (!options.peaks.empty()) {
    Result<MachinePeaks> peaks = read_peaks(options.peaks);
    if (!peaks) return peaks.error();
    plan.peaks = std::move(*peaks);
  }
  Result<std::vector<Benchmark>> benchmarks = chosen(plan.worker.benchmarks, options.targets);
  if (!benchmarks) return benchmarks.error();
  plan.benchmarks = std::move(*benchmarks);
  if (options.time_limit_s > 0) put_one_of_each_family_first(plan.benchmarks);
  plan.setup.device = options.device == "auto" ? (plan.worker.gpu.count > 0 ? "cuda" : "cpu") : options.device;
  const bool cuda = plan.setup.device == "cuda";
  if (cuda && options.ratios) return wrong("--ratios are of processors: leave it out on a device, or add --device cpu");
  plan.setup.size = !options.size.empty() ? options.size : cuda ? "gpu" : "cpu";
  plan.setup.seed = options.seed;
  // A process uses one device, however many there are.
  const std::string key = cuda ? gpu_key(plan.worker.gpu.name, options.ranks) : base::cpu_key();
  plan.provenance = {commit_of("."),
                     key,
                     plan.setup.device,
                     plan.setup.size,
                     std::string(to_string(options.profile)),
                     options.flush_cache ? "flushed" : "warm",
                     utc_now(),
                     0,
                     0,
                     plan.worker.torch,
                     cuda ? plan.worker.cuda : "",
                     cuda ? plan.worker.driver : "",
                     std::int64_t{options.ranks}};
  plan.expectations_key = options.ratios ? base::cpu_family() : key;
  plan.expectations_path = path_of_expectations(options, plan.expectations_key);
  return plan;
}

/// Sizes other than a device's own, and several ranks, have entries of their own: "name@smoke", "name@4ranks".
std::string example_name(const Plan& plan, const Benchmark& benchmark) {
  const std::string own = plan.setup.device == "cuda" ? "gpu" : "cpu";
  const unsigned ranks = ranks_of(benchmark, plan.options.ranks);
  std::string name = benchmark.name;
  if (plan.setup.size != own) name += "@" + plan.setup.size;
  if (ranks > 1) name += "@" + std::to_string(ranks) + "ranks";
  return name;
}

Measured measured_of(const Plan& plan, const Row& row) {
  Provenance provenance = plan.provenance;
  provenance.iterations = row.iterations;
  provenance.warmup = row.warmup;
  provenance.ranks = ranks_of(row.benchmark, plan.options.ranks);
  provenance.hardware_key = plan.expectations_key;
  Measured out{example_name(plan, row.benchmark), std::string(to_string(row.benchmark.goal)), {}, provenance};
  if (plan.options.ratios)
    out.ratios = ratios_of(row);
  else
    out.metrics = metrics_of(row);
  return out;
}

/// A slowdown, or a machine so busy that all steps of a variant met something else: it is measured again, later.
bool is_doubtful(const Plan& plan, const Row& row) {
  return plan.options.ratios && row.status == RowStatus::kRegressed;
}

Result<Row> run_benchmark(const Plan& plan, std::size_t index, const Expectations& expectations) {
  const Benchmark& benchmark = plan.benchmarks[index];
  const std::string folder = plan.options.out + "/" + benchmark.name;
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return base::system_error("create", folder, code.value());
  std::uint64_t furthest = 0;
  const auto progress = [&](std::uint64_t part) {
    furthest = std::max(furthest, part);
    if (plan.options.progress)
      plan.options.progress(index * kBenchmarkParts + furthest, plan.benchmarks.size() * kBenchmarkParts);
  };
  Row row;
  for (int tries = 0; tries == 0 || (tries < kTriesOfRatios && is_doubtful(plan, row)); ++tries) {
    if (plan.options.cancelled && plan.options.cancelled()) {
      row.benchmark = benchmark;
      row.setup = plan.setup;
      row.fail("interrupted before it ran");
    } else {
      row = measure(benchmark, {plan.options, plan.setup, folder, progress, plan.peaks ? &*plan.peaks : nullptr,
                                plan.setup.device == "cuda" ? plan.worker.gpu.name : "host"});
    }
    decide(row, expectations, measured_of(plan, row), plan.options.validate);
  }
  progress(kBenchmarkParts);
  return row;
}

/// Stores what is not wrong, and what regressed where that is accepted. False: something asked for was not stored.
Result<bool> store(const Plan& plan, Row& row, std::vector<std::string>& notes) {
  const bool accepted = row.status == RowStatus::kRegressed;
  if (row.status != RowStatus::kPassed && row.status != RowStatus::kNoExpectation && !accepted) return true;
  const Result<UpdateReport> report =
      update_expectations(plan.expectations_path, plan.expectations_key, {measured_of(plan, row)},
                          {plan.options.accept_regressions, plan.options.accept_provenance});
  if (!report) return report.error();
  for (const std::string& name : report->written) notes.push_back("stored: " + name);
  for (const std::string& why : report->refused) notes.push_back("not stored: " + why);
  if (accepted && !report->written.empty()) {
    row.status = RowStatus::kPassed;
    row.reason = "accepted: " + row.reason;
  }
  return report->refused.empty();
}

/// When no further benchmark is begun: what is left of the limit must suffice for the longest one so far.
class TimeLimit {
 public:
  explicit TimeLimit(double limit_s) : limit_s_(limit_s) {}
  bool is_reached() const { return limit_s_ > 0 && begun_ && elapsed_s() + longest_s_ > limit_s_; }
  void begin_one() { begun_ = true, began_s_ = elapsed_s(); }
  void end_one() { longest_s_ = std::max(longest_s_, elapsed_s() - began_s_); }

 private:
  double elapsed_s() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double limit_s_, began_s_ = 0, longest_s_ = 0;
  bool begun_ = false;
};

/// The benchmarks of a run, one after the other.
class Run {
 public:
  Run(const Plan& plan, const Expectations& expectations, SavedResults saved, std::vector<std::string> notes)
      : plan_(plan), expectations_(expectations), saved_(std::move(saved)), notes_(std::move(notes)) {}

  Result<RunOutcome> all() {
    TimeLimit limit(plan_.options.time_limit_s);
    for (std::size_t i = 0; i < plan_.benchmarks.size(); ++i) {
      const std::string& name = plan_.benchmarks[i].name;
      if (saved_.has(name)) continue;
      if (limit.is_reached()) {
        left_ += (left_.empty() ? "" : ", ") + name;
        continue;
      }
      limit.begin_one();
      if (Status status = one(i); !status.ok()) return status.error();
      limit.end_one();
    }
    if (!left_.empty()) notes_.push_back("not run within the time limit (--resume goes on with them): " + left_);
    RunOutcome outcome;
    outcome.exit_code = !left_.empty() ? kOutOfTime : exit_code_of(saved_.rows());
    if (!stored_ && outcome.exit_code == kAllMet) outcome.exit_code = kFailure;
    if (outcome.exit_code == kAllMet && has_nothing_to_compare()) {
      notes_.push_back("no ratio was compared: " + plan_.expectations_path +
                       " has none of these benchmarks under these conditions (--update-expectations stores them)");
      outcome.exit_code = kAllSkipped;
    }
    if (Status status = saved_.write(notes_, outcome.exit_code); !status.ok()) return status.error();
    outcome.json = saved_.json();
    outcome.notes = std::move(notes_);
    return outcome;
  }

 private:
  Status one(std::size_t index) {
    Result<Row> row = run_benchmark(plan_, index, expectations_);
    if (!row) return row.error();
    if (plan_.options.update_expectations) {
      const Result<bool> all = store(plan_, *row, notes_);
      stored_ = stored_ && all.ok() && *all;
      if (!all) notes_.push_back("not stored: " + all.error().message());
    }
    saved_.add(row_json(*row));
    return saved_.write(notes_, kOutOfTime);
  }

  /// Ratios were asked for, and none of them had a stored one: no success, as everything skipped is none.
  bool has_nothing_to_compare() const {
    const RunOptions& options = plan_.options;
    if (!options.ratios || options.update_expectations || options.validate) return false;
    const std::vector<JsonView> rows = JsonView(saved_.rows()).items();
    return std::none_of(rows.begin(), rows.end(), [](JsonView row) {
      const std::vector<JsonView> metrics = row["expectations"]["metrics"].items();
      return std::any_of(metrics.begin(), metrics.end(), [](JsonView metric) { return metric["stored"].is_number(); });
    });
  }

  const Plan& plan_;
  const Expectations& expectations_;
  SavedResults saved_;
  std::vector<std::string> notes_;
  std::string left_;
  bool stored_ = true;
};

}  // namespace

Result<PlanOutcome> plan(const RunOptions& options) {
  const Result<Plan> plan = make_plan(options);
  if (!plan) return plan.error();
  const Result<AssumedRate> rate =
      assumed_rate(options, plan->peaks ? &*plan->peaks : nullptr, plan->setup.device, plan->worker.gpu.name);
  if (!rate) return rate.error();
  const Result<std::vector<PlannedBenchmark>> rows = planned(plan->benchmarks, plan->setup, options);
  if (!rows) return rows.error();
  return plan_outcome(*rows, plan->setup, options, *rate);
}

Result<RunOutcome> run(const RunOptions& options) {
  const Result<Plan> plan = make_plan(options);
  if (!plan) return plan.error();
  const Result<Expectations> expectations = Expectations::load(plan->expectations_path, plan->expectations_key);
  if (!expectations) return expectations.error();
  std::vector<std::string> notes;
  Result<SavedResults> saved = SavedResults::begin(
      options.out,
      {plan->provenance, options.worker, static_cast<std::int64_t>(options.seed), options.carbon_intensity},
      options.resume, notes);
  if (!saved) return saved.error();
  return Run(*plan, *expectations, std::move(*saved), std::move(notes)).all();
}

}  // namespace rangefinder::bench
