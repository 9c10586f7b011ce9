// SPDX-License-Identifier: MIT
#include "projection/activity_set.hpp"

#include "projection/figures.hpp"
#include "projection/launch_order.hpp"

#include <algorithm>
#include <tuple>

namespace rangefinder::projection {

namespace {

Interval interval_of(const ActivityTable& table, ActivityIndex activity) {
  return {table.begin_ns[activity], table.end_ns[activity]};
}

// Of activities that are ordered by group, then begin: the unions of the groups, added up.
template <typename GroupOf>
std::int64_t union_by_group(const ActivityTable& table, std::span<const ActivityIndex> activities, GroupOf&& group_of) {
  std::int64_t total = 0;
  for (std::size_t begin = 0; begin < activities.size();) {
    RunningUnion covered;
    std::size_t end = begin;
    for (; end < activities.size() && group_of(activities[end]) == group_of(activities[begin]); ++end)
      covered.add(interval_of(table, activities[end]));
    total = plus(total, covered.busy);
    begin = end;
  }
  return total;
}

template <typename GroupOf>
void sort_by(const ActivityTable& table, std::span<ActivityIndex> activities, GroupOf&& group_of) {
  std::sort(activities.begin(), activities.end(), [&](ActivityIndex a, ActivityIndex b) {
    return std::tuple(group_of(a), table.begin_ns[a]) < std::tuple(group_of(b), table.begin_ns[b]);
  });
}

}  // namespace

DeviceFigures figures_of_set(const Timeline& timeline, RangeIndex range, std::span<ActivityIndex> activities,
                             StreamRows& rows) {
  const ActivityTable& table = timeline.activities;
  const auto device_of = [&](ActivityIndex activity) { return timeline.streams[table.stream[activity]].device; };
  const auto stream_of = [&](ActivityIndex activity) { return table.stream[activity]; };
  const auto one_group = [](ActivityIndex) { return 0; };
  DeviceFigures figures;
  sort_by(table, activities, one_group);
  figures.any_busy_ns = union_by_group(table, activities, one_group);
  sort_by(table, activities, device_of);
  figures.gpu_busy_ns = union_by_group(table, activities, device_of);
  sort_by(table, activities, stream_of);
  for (std::size_t begin = 0; begin < activities.size();) {
    const StreamIndex stream = stream_of(activities[begin]);
    RunningUnion covered;
    Tally tally;
    std::size_t end = begin;
    for (; end < activities.size() && stream_of(activities[end]) == stream; ++end) {
      const ActivityIndex activity = activities[end];
      const Interval interval = interval_of(table, activity);
      covered.add(interval);
      tally.add(interval);
      figures.bytes += table.bytes[activity];
      figures.launch_delay_ns = plus(figures.launch_delay_ns, minus(interval.begin, launched_at(timeline, activity)));
    }
    rows.add(stream_figures(range, stream, tally, covered.busy));
    add_tally(figures, tally);
    begin = end;
  }
  return figures;
}

void Membership::sort() {
  if (!std::is_sorted(pairs_.begin(), pairs_.end())) std::sort(pairs_.begin(), pairs_.end());
}

}  // namespace rangefinder::projection
