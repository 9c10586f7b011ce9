// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/wrapping.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What is different between two versions of a program: step time first, then where the difference comes from.
namespace rangefinder {

/// What a row of a comparison is about.
enum class DifferenceBy : std::uint8_t {
  kStep,          ///< a step as a whole
  kPath,          ///< ranges of one path, with all that is inside them
  kOperator,      ///< a framework's operator, without those that it calls
  kKernelFamily,  ///< device work of one kind: GEMM, attention, ...
  kCollective,    ///< communication of one kind: all_reduce, ...
};

/// What became of a path.
enum class PathChange : std::uint8_t {
  kSame,        ///< also of rows that are no paths and are on both sides
  kRenumbered,  ///< a number in its name is another one: layers.11, now layers.12
  kMoved,       ///< it is in another place, or a level above it is new or gone
  kNew,
  kGone,
};

/// The reasons of a change, nanoseconds a step. They add up to it.
struct TimeDivision {
  std::int64_t count_ns = 0;    ///< more or fewer calls and kernels, each as long as before; all of what is new or gone
  std::int64_t host_ns = 0;     ///< the device waits longer for the host; without a device, a call takes longer
  std::int64_t kernel_ns = 0;   ///< a kernel takes longer
  std::int64_t idle_ns = 0;     ///< the device waits longer for something else: a copy, an event, a launch on its way
  std::int64_t overlap_ns = 0;  ///< less of the work is hidden behind other work

  /// Files can claim any time: it wraps around.
  std::int64_t sum() const noexcept {
    using detail::plus;
    return plus(plus(plus(count_ns, host_ns), plus(kernel_ns, idle_ns)), overlap_ns);
  }
};

/// What to call a change.
enum class ChangeVerdict : std::uint8_t {
  kSame,
  kBetter,
  kWorse,
  kCannotTell,  ///< it may be chance: more runs or steps would tell. Also of less than 0.1 % of a step
};

/// A change with its interval, nanoseconds a step.
struct ChangeInterval {
  std::int64_t change_ns = 0;
  std::int64_t low_ns = 0;  ///< it is between these, with 95 % confidence
  std::int64_t high_ns = 0;
};

/// What counts for something in a step, on both sides. Each moment of a step counts once: for the work that the device
/// does (of what runs at the same time for computation before communication before copies, and then for what began
/// first), or, while it does nothing, for what it waits for. So the rows of all operators add up to the step, and a
/// path is what it, and all inside it, adds to the step.
struct TimeDifference {
  DifferenceBy by = DifferenceBy::kStep;
  std::string name;  ///< "train/forward"; of what is gone the baseline's
  std::string was;   ///< the baseline's name where that is another one
  PathChange change = PathChange::kSame;
  std::int64_t baseline_ns = 0;   ///< mean of steps, and of devices
  std::int64_t candidate_ns = 0;  ///< likewise
  TimeDivision division;          ///< adds up to change_ns()
  /// Whether the change is more than chance, by the fast steps of fast runs, which load on the machine moves least, and
  /// with all rows of the comparison taken together (Benjamini and Hochberg). docs/how-to/compare-two-runs.md has more.
  ChangeVerdict verdict = ChangeVerdict::kCannotTell;
  /// The change of these steps, which is what `verdict` is about; nothing: the row is not judged. The change of the
  /// means, change_ns(), is another figure, and may lie outside of this interval.
  std::optional<ChangeInterval> fast_change;
  double baseline_calls = 0;  ///< of the range or operator, a step
  double candidate_calls = 0;
  double baseline_ops = 0;  ///< device operations a step
  double candidate_ops = 0;

  std::int64_t change_ns() const noexcept { return detail::minus(candidate_ns, baseline_ns); }
};

enum class FigureUnit : std::uint8_t { kNanoseconds, kBytes, kCount, kPerSecond };

/// A figure of steps or of a run as a whole.
struct FigureDifference {
  std::string name;  ///< "step.p95", "step.device_busy", "memory.peak"
  FigureUnit unit = FigureUnit::kNanoseconds;
  double baseline = 0;
  double candidate = 0;
};

/// What ranges or operators of one name held when the device that needs most memory needed most; of several runs the
/// most.
struct MemoryDifference {
  DifferenceBy by = DifferenceBy::kPath;  ///< or kOperator
  std::string name;                       ///< the name of the range alone; empty: none was open at the allocation
  std::int64_t baseline_bytes = 0;
  std::int64_t candidate_bytes = 0;

  std::int64_t change_bytes() const noexcept { return detail::minus(candidate_bytes, baseline_bytes); }
};

/// One side of a comparison.
struct ComparedSide {
  std::vector<std::string> runs;  ///< files or folders
  std::uint64_t steps = 0;        ///< that count: without warm-up and skipped ones
  std::uint64_t warm_up = 0;      ///< steps that were left out as warm-up
  std::vector<std::string> devices;
  std::string cpu;     ///< empty: not known
  std::string driver;  ///< likewise
};

struct RunDifference {
  ComparedSide baseline;
  ComparedSide candidate;
  std::vector<FigureDifference> figures;  ///< step time first
  std::vector<TimeDifference> times;      ///< by DifferenceBy; in it the greatest change first
  std::vector<MemoryDifference> memory;   ///< by range, then by operator; in it the greatest change first
  std::vector<std::string> notes;

  /// Nothing in it changed: a run compared with itself.
  bool nothing_found() const noexcept;
};

struct CompareOptions {
  ProjectionOptions projection;  ///< how device work counts for paths
};

/// Compares two versions of a program by their recordings. Each side is a capture, a trace of torch.profiler, an Nsight
/// export, a folder that is one job of several ranks, or a folder of several runs (of files, or of folders that are
/// jobs).
///
///   const auto difference = rangefinder::compare_runs("before.rfcap", "after.rfcap");
///   std::cout << difference->times.front().change_ns() << " ns a step\n";
///
/// Warm-up and skipped steps are left out. Input without steps counts as one step. Paths that were renumbered or moved
/// are compared with what they were.
///
/// Errors:  as of load_timeline.
/// Cost:    reads one run at a time; memory as of the largest run.
RANGEFINDER_EXPORT Result<RunDifference> compare_runs(const std::string& baseline, const std::string& candidate,
                                                      const LoadOptions& load = {}, const CompareOptions& options = {});

enum class DiffFormat : std::uint8_t {
  kText,
  kJson,      ///< one object with schema_version; exact numbers
  kCsv,       ///< the times, RFC 4180, exact numbers
  kMarkdown,  ///< GitHub-flavoured tables
};

struct DiffTextOptions {
  DiffFormat format = DiffFormat::kText;
  std::size_t top = 10;   ///< rows a table, in text and Markdown; 0: all. CSV and JSON have all
  bool terminal = false;  ///< as in ReportOptions
  bool utf8 = true;
  bool colour = false;
  std::size_t width = 0;
};

/// Writes a comparison through `sink`, which returns false to stop (kIo then).
RANGEFINDER_EXPORT Status write_difference(const RunDifference& difference, const DiffTextOptions& options,
                                           const std::function<bool(std::string_view)>& sink);

/// "path", "kernel family"; static.
RANGEFINDER_EXPORT const char* to_string(DifferenceBy by) noexcept;
/// "same", "better", "worse", "cannot tell"; static.
RANGEFINDER_EXPORT const char* to_string(ChangeVerdict verdict) noexcept;
/// "same", "renumbered", "moved", "new", "gone"; static.
RANGEFINDER_EXPORT const char* to_string(PathChange change) noexcept;

}  // namespace rangefinder
