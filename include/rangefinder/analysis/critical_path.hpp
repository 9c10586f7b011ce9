// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

// The critical path: the chain of host work, launches, device work and waits that made a step as long as it was, and
// how long the step would be if some of it took less time.
namespace rangefinder {

/// What the time of a segment of the critical path was for.
enum class CriticalReason : std::uint8_t {
  kHost,           ///< a host thread computed: operators, ranges, or code between them
  kInput,          ///< a host thread was in a range that gets input (see StepPart: data)
  kCall,           ///< a host thread was in a CUDA call that does not wait for a device
  kLaunchLatency,  ///< from the call that launched an activity until it began, on a device that was ready
  kComputation,    ///< kernels, memsets, and CUDA graphs that were recorded as a whole
  kCommunication,  ///< kernels of NCCL and RCCL; the work of a collective on the host
  kCopy,
  kStreamDelay,      ///< an activity was launched and its stream was free, and it did not begin: scheduling, events
  kSynchronisation,  ///< a call that waits for a device: from the end of the work until the thread went on; all of it
                     ///< where the work is not known
  kThreadWait,       ///< a thread was handed work by another one: until it began, until the other one went on
  kLaunchQueue,      ///< a call that launches found the launch queue full: from when the device took earlier work until
                     ///< the call went on
  kUnknown,          ///< the data do not say why nothing happened
};
inline constexpr std::size_t kCriticalReasons = 12;

/// A stretch of time of one thread or one activity, or the delay in front of it.
struct CriticalSegment {
  CriticalReason reason = CriticalReason::kUnknown;
  /// Not a stretch of work but a dependency: something waits here until something else is done. It takes no time of its
  /// own; with scale 0 nothing waits for it. Only `CriticalPathGraph::times` is told of these; they are on no path.
  bool is_wait = false;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  ThreadIndex thread = kNone;      ///< of host work and of waits of a thread; of a launch latency, the launching thread
  ActivityIndex activity = kNone;  ///< of device work; of delays in front of an activity and waits of it, that activity
  CallIndex call = kNone;          ///< the outermost call that was open; of device work, the launching call
  RangeIndex range = kNone;        ///< the innermost annotation; of device work, its owner
  RangeIndex op = kNone;           ///< the innermost operator; of device work, the one that launched it

  std::int64_t length_ns() const noexcept { return end_ns - begin_ns; }
};

/// How many times as long a segment takes: 0: no time at all, 0.5: twice as fast, 1: as recorded. Values below 0 and
/// NaN count as 0.
using CriticalScale = std::function<double(const CriticalSegment&)>;

/// A point at which a window begins or ends: a moment of a thread or of an activity.
struct CriticalAnchor {
  std::uint32_t node = 0;      ///< of the graph
  std::int64_t offset_ns = 0;  ///< behind the node's begin
};

/// A stretch of time whose critical path is asked for.
struct CriticalWindow {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  ///< when the last of its work was done
  ProcessIndex process = kNone;
  std::optional<std::int64_t> step;  ///< the step's number
  RangeIndex range = kNone;          ///< the range that it is a run of
  /// It begins (ends) at the latest of these. Of one graph only.
  std::vector<CriticalAnchor> begins;
  std::vector<CriticalAnchor> ends;

  std::int64_t length_ns() const noexcept { return end_ns - begin_ns; }
};

struct CriticalPathOptions {
  /// Idle time of a stream of at most so long between two activities, and latency of a launch of at most so long, are
  /// usual; longer ones whose cause is not in the data are kUnknown. Nanoseconds, at least 0.
  std::int64_t usual_gap_ns = 100'000;
  /// Which range owns an activity.
  ProjectionOptions projection;
};

/// The dependencies of all that was recorded, as a graph: work of each thread in order, work of each stream in order,
/// launches, full launch queues, synchronisations, events, CUDA graphs, threads of autograd and collectives of a job.
/// Its longest path is as long as the recording. Built once, it answers any number of questions.
///
///   const rangefinder::CriticalPathGraph graph(*timeline);
///   const std::vector<rangefinder::CriticalWindow> steps = graph.steps();
///   for (const auto& path : graph.paths(steps))
///     for (const rangefinder::CriticalSegment& segment : path)
///       std::cout << rangefinder::to_string(segment.reason) << ' ' << segment.length_ns() << " ns\n";
///
///   // How long would each step be if copies took no time?
///   const auto times = graph.times(steps, [](const rangefinder::CriticalSegment& segment) {
///     return segment.reason == rangefinder::CriticalReason::kCopy ? 0.0 : 1.0;
///   });
///
/// Units:   nanoseconds.
/// Threads: const members from any number at a time. The timeline must outlive the graph and is not changed.
/// Cost:    O(n log n) in ranges, calls, launches and activities to build; about 220 bytes for an activity with its
/// call
///          and its operator, and twice as much while it is built.
class RANGEFINDER_EXPORT CriticalPathGraph {
 public:
  explicit CriticalPathGraph(const Timeline& timeline, const CriticalPathOptions& options = {});
  /// With Projection::owner of a projection that was made already.
  CriticalPathGraph(const Timeline& timeline, const CriticalPathOptions& options, std::vector<std::uint32_t> owner);
  ~CriticalPathGraph();
  CriticalPathGraph(CriticalPathGraph&&) noexcept;
  CriticalPathGraph& operator=(CriticalPathGraph&&) noexcept;
  CriticalPathGraph(const CriticalPathGraph&) = delete;
  CriticalPathGraph& operator=(const CriticalPathGraph&) = delete;

  /// All of it, until the last work was done. Empty where nothing was recorded.
  CriticalWindow whole() const;
  /// The steps of each process, by process and time. A step begins where its process marks it, or when the work of the
  /// step before is done if that is later; it ends when its own work is done, which may be after the next one begins on
  /// the host. So steps do not overlap, and of steps without pause between them the lengths add up to the whole.
  std::vector<CriticalWindow> steps() const;
  /// Each run of ranges (annotations or operators) of that name, until the work that it launched was done.
  std::vector<CriticalWindow> runs_of(std::string_view name) const;
  /// What was done between two times: it ends at the latest time of that stretch at which anything was running.
  CriticalWindow between(std::int64_t begin_ns, std::int64_t end_ns) const;

  /// The critical path of each window, in order of time. Segments adjoin; together they are as long as the window.
  ///
  /// With a scale: what would be critical then. Segments are as they were recorded, and need not adjoin.
  std::vector<std::vector<CriticalSegment>> paths(const std::vector<CriticalWindow>& windows,
                                                  const CriticalScale& scale = {}) const;

  /// What each window would be long, ns, if segments took `scale` times as long. The whole schedule is worked out
  /// again: work that was hidden becomes critical. With scale 1, as recorded. Where a delay was not seen because
  /// something else took longer, it counts as the least one that was seen on that stream: gains are upper bounds.
  ///
  /// Cost: O(n) whatever the number of windows.
  std::vector<std::int64_t> times(const std::vector<CriticalWindow>& windows, const CriticalScale& scale) const;

  /// Nodes and dependencies, and the memory of both.
  std::size_t node_count() const noexcept;
  std::size_t edge_count() const noexcept;
  std::uint64_t memory_bytes() const noexcept;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

/// "launch latency", "stream delay"; static.
RANGEFINDER_EXPORT const char* to_string(CriticalReason reason) noexcept;

}  // namespace rangefinder
