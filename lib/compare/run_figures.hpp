// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/wrapping.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The figures of a run that a comparison needs: what its steps consist of, by range path, operator, kernel family and
// collective. Small: it does not grow with the activities, so that it can be kept as a baseline.
namespace rangefinder::compare {

/// What a run ran on.
struct Hardware {
  std::vector<std::string> devices;  ///< name of each device that did anything, sorted: 8 GPUs, 8 names
  std::string cpu;                   ///< processor and how many of it were used; empty: not known
  std::string driver;                ///< of the devices; empty: not known
  friend bool operator==(const Hardware&, const Hardware&) = default;
};

/// A part of the time of steps, in nanoseconds. Each moment of a step counts once: for what the device runs (of work at
/// the same time computation counts before communication before copies, and of one kind what began first). Where it
/// runs nothing because nothing was launched, for the range in which the thread is that marks the steps, and the
/// operator of the thread that launches next; where it runs nothing for another reason, for the work that it waits for.
/// Of a process without work on a device every moment is the host's.
struct Amounts {
  std::uint64_t calls = 0;     ///< of the range or operator itself; 0 of what runs on over several steps
  std::uint64_t ops = 0;       ///< activities that began on the device
  std::int64_t work_ns = 0;    ///< durations of activities, added up
  std::int64_t hidden_ns = 0;  ///< of work_ns, what is hidden: other work counts at that moment
  std::int64_t host_ns = 0;    ///< the device had nothing to do: the next activity was not launched; or there is none
  std::int64_t idle_ns = 0;    ///< it did nothing for another reason

  /// The part of the device's work that is not hidden.
  std::int64_t busy_ns() const noexcept { return detail::minus(work_ns, hidden_ns); }
  /// What counts for it: busy_ns + host_ns + idle_ns.
  std::int64_t time_ns() const noexcept { return detail::plus(busy_ns(), detail::plus(host_ns, idle_ns)); }
  void add(const Amounts& other) noexcept {
    calls += other.calls;
    ops += other.ops;
    work_ns = detail::plus(work_ns, other.work_ns);
    hidden_ns = detail::plus(hidden_ns, other.hidden_ns);
    host_ns = detail::plus(host_ns, other.host_ns);
    idle_ns = detail::plus(idle_ns, other.idle_ns);
  }
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

/// Deeper ranges count for the range around them at this depth: a path has at most so many names.
inline constexpr std::uint32_t kDeepestPath = 64;

/// A range path, as its last name and the path around it. Those around come first in Run::paths.
struct PathNode {
  std::uint32_t around = kNone;
  std::string name;
  friend bool operator==(const PathNode&, const PathNode&) = default;
};

/// What rows of a comparison are about.
enum class SubjectKind : std::uint8_t { kStep, kPath, kOperator, kKernelFamily, kCollective };
inline constexpr std::size_t kSubjectKinds = 5;

/// Something that takes time in steps, step by step. Of a path: with all that is inside.
struct Subject {
  SubjectKind kind = SubjectKind::kStep;
  /// Row of Run::paths, operators, kernel_families or collectives; 0 of the step.
  std::uint32_t index = 0;
  /// Row of Run::steps and amounts, in order; steps without any have no entry.
  std::vector<std::pair<std::uint32_t, Amounts>> by_step;
  friend bool operator==(const Subject&, const Subject&) = default;
};

/// The finest part of the time: kernels of one name (or, without one, time without a kernel) that one operator launched
/// directly in one path. All cells together are the steps; kNone: in none.
struct Cell {
  std::uint32_t path = kNone;
  std::uint32_t op = kNone;
  std::uint32_t kernel_family = kNone;
  std::uint32_t collective = kNone;
  std::uint64_t kernel = 0;  ///< a hash of its name: enough to find the same one in another run. 0: no kernel
  Amounts amounts;           ///< over the steps that count
  friend bool operator==(const Cell&, const Cell&) = default;
};

/// What it is a cell of: Run::cells are in this order.
inline std::array<std::uint64_t, 5> key_of(const Cell& cell) noexcept {
  return {cell.path, cell.op, cell.kernel_family, cell.collective, cell.kernel};
}

struct RunStep {
  std::int64_t number = 0;
  bool warm_up = false;             ///< see analysis::warm_up_steps
  bool skipped = false;             ///< its work was thrown away
  std::uint32_t places = 0;         ///< devices (hosts of processes without) that have it
  std::int64_t peak_bytes = -1;     ///< most that an allocator held on one device; -1: not known
  std::int64_t computation_ns = 0;  ///< over all places, as all times of steps
  std::int64_t exposed_communication_ns = 0;
  std::int64_t exposed_memcpy_ns = 0;
  std::uint64_t items = 0;  ///< tokens, samples

  bool counts() const noexcept { return !warm_up && !skipped; }
  friend bool operator==(const RunStep&, const RunStep&) = default;
};

/// Memory that ranges or operators of one name held when the device that needed most of it needed most.
struct MemoryShare {
  bool by_operator = false;  ///< false: by the innermost range that was open at the allocation
  std::string name;          ///< empty: none was open but a step, or the allocation is not in the data
  std::int64_t bytes = 0;
  friend bool operator==(const MemoryShare&, const MemoryShare&) = default;
};

struct Run {
  std::string name;  ///< for people: the file or folder
  Hardware hardware;
  bool has_steps = true;  ///< false: the input has none, and all of it is one step
  std::vector<RunStep> steps;
  std::vector<PathNode> paths;
  std::vector<std::string> operators;
  std::vector<std::string> kernel_families;
  std::vector<std::string> collectives;  ///< "all_reduce"
  std::vector<Subject> subjects;         ///< by kind, then index
  std::vector<Cell> cells;               ///< by path, operator, family, collective, kernel
  std::vector<MemoryShare> peak_memory;  ///< by range, then by operator; largest first
  std::vector<std::string> notes;        ///< what the reader should know: what the figures lack

  /// Steps that count, over all places: what a mean "per step" divides by.
  std::uint64_t counted_steps() const noexcept;
  friend bool operator==(const Run&, const Run&) = default;
};

struct RunOptions {
  ProjectionOptions projection;
};

/// Figures of a timeline. Cost: O(n log n) in activities and ranges.
Run figures_of(const Timeline& timeline, const RunOptions& options = {});

/// "train/forward/layer.0"
std::string path_text(const Run& run, std::uint32_t path);
/// "step", "train/forward", "aten::addmm", "gemm", "all_reduce"
std::string name_of(const Run& run, const Subject& subject);

enum class MetricUnit : std::uint8_t { kNanoseconds, kBytes, kCount, kPerSecond };

/// What can be measured of a run, one value a step: a name and a series.
///
///   step                          time of a step, mean over devices (processes without a device: of their host)
///   step.device_busy, step.device_idle, step.host, step.computation, step.exposed_communication,
///   step.exposed_memcpy, step.ops, step.items_per_second
///   memory.peak                   greatest of the devices
///   path:train/forward            the part of a step that counts for it (Amounts::time_ns), with all that is inside
///   path.device:..., path.busy:..., path.host:..., path.idle:..., path.calls:..., path.ops:...
///   operator:aten::addmm, kernel:gemm, collective:all_reduce     and .device, .busy, ... likewise
struct Metric {
  std::string name;
  MetricUnit unit = MetricUnit::kNanoseconds;
  /// Less is better; false: more is.
  bool less_is_better = true;
};

/// All metrics that the run has; those of paths in the order of paths. `figures`: also .device, .busy, ...
std::vector<Metric> metrics_of(const Run& run, bool figures = false);

/// One value for each step that counts (RunStep::counts), in order, mean over places; 0 where the subject is not in the
/// step. Empty: the run has no such metric.
std::vector<double> series_of(const Run& run, std::string_view metric);

/// The same of a subject's time, for those who have it at hand.
std::vector<double> series_of(const Run& run, const Subject& subject);

}  // namespace rangefinder::compare
