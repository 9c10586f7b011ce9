// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/host_spans.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder::analysis {

/// What a thread did in the recorded time. The states and `idle_ns` add up to `recorded_ns`.
struct ThreadTimes {
  ThreadIndex thread = kNone;
  std::array<std::int64_t, kHostStates> state_ns{};  ///< by HostState
  std::int64_t idle_ns = 0;                          ///< nothing tells what it did
  std::int64_t recorded_ns = 0;
  /// Time on a processor in its ranges, where CPU events were counted (CpuEvent::kCpuTime), and the time of these
  /// ranges.
  std::optional<std::int64_t> cpu_ns;
  std::int64_t counted_ns = 0;

  std::int64_t of(HostState state) const noexcept { return state_ns[static_cast<std::size_t>(state)]; }
  std::int64_t running_ns() const noexcept { return of(HostState::kOperator) + of(HostState::kRange); }
};

/// Of threads that anything is known of, by process, the one that ran longest first. Time outside of Timeline::windows
/// is not part of any figure.
///
/// Cost: as HostSpans.
std::vector<ThreadTimes> thread_times(const Timeline& timeline, const Projection& projection,
                                      const ProjectionOptions& options);

/// How many threads of each process ran at the same time.
///
///   const RunningThreads running(timeline, options);
///   running.between(process, begin_ns, end_ns);  // thread time in that window: 2.5 threads for 4 ns are 10
///
/// Cost: O(n log n) in the spans of all threads, of which 16 bytes each are kept; O(log n) a question.
class RunningThreads {
 public:
  RunningThreads(const Timeline& timeline, const ProjectionOptions& options);

  /// Time in which threads of the process ran, added up over them.
  std::int64_t between(ProcessIndex process, std::int64_t begin_ns, std::int64_t end_ns) const;
  /// Threads of the process that ever ran.
  std::uint32_t threads(ProcessIndex process) const noexcept {
    return process < threads_.size() ? threads_[process] : 0;
  }

 private:
  struct Point {
    std::int64_t time_ns;
    std::int64_t running_ns;  // thread time up to then
    std::uint32_t threads;    // that run from then on
  };
  std::int64_t until(const std::vector<Point>& points, std::int64_t time_ns) const;

  std::vector<std::vector<Point>> points_;  // by process, in order
  std::vector<std::uint32_t> threads_;      // by process
};

}  // namespace rangefinder::analysis
