// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <tuple>

// The points in time that a row of each kind tells, for who brings them onto another clock; kNoTime among them stays.
namespace rangefinder::timeline {

inline auto times_of(ProcessInfo& row) noexcept { return std::tie(row.start_ns, row.seen_ns); }
inline auto times_of(RangeRow& row) noexcept { return std::tie(row.begin_ns, row.end_ns, row.opened_ns); }
inline auto times_of(CallRow& row) noexcept { return std::tie(row.begin_ns, row.end_ns); }
inline auto times_of(LaunchRow& row) noexcept { return std::tie(row.time_ns); }
inline auto times_of(ActivityRow& row) noexcept {
  return std::tie(row.begin_ns, row.end_ns, row.queued_ns, row.submitted_ns);
}
inline auto times_of(SyncRow& row) noexcept { return std::tie(row.begin_ns, row.end_ns); }
inline auto times_of(OverheadRow& row) noexcept { return std::tie(row.begin_ns, row.end_ns); }
inline auto times_of(CudaAllocationRow& row) noexcept { return std::tie(row.time_ns); }
inline auto times_of(MarkRow& row) noexcept { return std::tie(row.time_ns); }
inline auto times_of(CounterRow& row) noexcept { return std::tie(row.time_ns); }
inline auto times_of(StepRow& row) noexcept { return std::tie(row.begin_ns, row.end_ns); }
inline auto times_of(AutogradNodeRow& row) noexcept { return std::tie(row.begin_ns, row.end_ns, row.forward_ns); }
inline auto times_of(GraphNodeRow& row) noexcept { return std::tie(row.time_ns); }
inline auto times_of(CollectiveRow& row) noexcept {
  return std::tie(row.begin_ns, row.end_ns, row.started_ns, row.completed_ns, row.wait_begin_ns, row.wait_end_ns);
}
inline auto times_of(AllocatorEventRow& row) noexcept { return std::tie(row.time_ns); }
inline auto times_of(SensorSampleRow& row) noexcept { return std::tie(row.time_ns); }
inline auto times_of(PmSampleRow& row) noexcept { return std::tie(row.begin_ns, row.end_ns); }
inline auto times_of(Window& row) noexcept { return std::tie(row.begin_ns, row.end_ns); }
inline auto times_of(EarlierCall& row) noexcept { return std::tie(row.time_ns); }

/// Calls `use` with each table and list of rows that tell times, always in the same order.
template <typename TimelineType, typename Use>
void for_each_timed_table(TimelineType& timeline, Use use) {
  use(timeline.processes);
  use(timeline.ranges);
  use(timeline.calls);
  use(timeline.launches);
  use(timeline.activities);
  use(timeline.syncs);
  use(timeline.overheads);
  use(timeline.cuda_allocations);
  use(timeline.marks);
  use(timeline.counters);
  use(timeline.steps);
  use(timeline.autograd_nodes);
  use(timeline.graph_nodes);
  use(timeline.collectives);
  use(timeline.allocator_events);
  use(timeline.sensor_samples);
  use(timeline.pm_samples);
  use(timeline.windows);
  use(timeline.earlier_calls);
}

}  // namespace rangefinder::timeline
