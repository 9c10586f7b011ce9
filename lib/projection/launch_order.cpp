// SPDX-License-Identifier: MIT
#include "projection/launch_order.hpp"

#include "projection/figures.hpp"
#include "projection/large_vector.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace rangefinder::projection {

LaunchOrder::LaunchOrder(const Timeline& timeline, const LaunchTable& launches,
                         std::span<const LaunchIndex> launch_of_activity, const RangeOrder& order)
    : launches_(launches),
      timeline_(timeline),
      ranges_(timeline.ranges),
      launch_(launch_of_activity),
      thread_count_(timeline.threads.size()),
      offset_(thread_count_ + 1, 0),
      notes_(thread_count_, 0) {
  look_for_overlap(timeline);
  if (!take_as_they_are()) {
    sort_by_launch();
    sort_by_time();
  }
  find_stand_ins(order);
}

// The table is usually ordered by begin within a stream: then a look at the activity before shows whether any overlap.
void LaunchOrder::look_for_overlap(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  overlaps_.assign(timeline.streams.size(), false);
  std::vector<std::int64_t> busy_to(timeline.streams.size(), std::numeric_limits<std::int64_t>::min());
  bool any_overlap = false;
  for (std::size_t row = 0; row < activities.size(); ++row) {
    const StreamIndex stream = activities.stream[row];
    if (activities.begin_ns[row] < busy_to[stream]) {
      overlaps_[stream] = true;
      any_overlap = true;
    }
    busy_to[stream] = Interval(activities.begin_ns[row], activities.end_ns[row]).end;
  }
  if (any_overlap) measure_overlap(timeline);
}

// Of the streams whose rows are not in order in the table: looks again, in order.
void LaunchOrder::measure_overlap(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  struct Row {
    StreamIndex stream;
    std::int64_t begin;
    std::int64_t end;
  };
  std::vector<Row> rows;
  for (std::size_t row = 0; row < activities.size(); ++row) {
    const Interval interval(activities.begin_ns[row], activities.end_ns[row]);
    if (overlaps_[activities.stream[row]]) rows.push_back({activities.stream[row], interval.begin, interval.end});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.stream, a.begin, a.end) < std::tie(b.stream, b.begin, b.end);
  });
  overlaps_.assign(overlaps_.size(), false);
  for (std::size_t row = 1; row < rows.size(); ++row)
    if (rows[row].stream == rows[row - 1].stream && rows[row].begin < rows[row - 1].end)
      overlaps_[rows[row].stream] = true;
}

ThreadIndex LaunchOrder::thread_of(LaunchIndex launch) const noexcept {
  if (const RangeIndex noted = note(launch); noted != kNone) return ranges_.thread[noted];
  const bool known = launches_.source[launch] != LaunchSource::kUnknown && launches_.time_ns[launch] != kNoTime;
  return known && launches_.thread[launch] < thread_count_ ? launches_.thread[launch] : kNone;
}

// One launching thread, one stream, nothing out of order: common enough to look for before anything is moved.
bool LaunchOrder::take_as_they_are() {
  ThreadIndex only = kNone;
  std::uint32_t previous = kNone;
  std::int64_t latest = std::numeric_limits<std::int64_t>::min();
  bool notes = false;
  for (const LaunchIndex launch : launch_) {
    if (launch >= launches_.size() || (previous != kNone && launch < previous)) return false;
    if (launch == previous) continue;
    previous = launch;
    const ThreadIndex thread = thread_of(launch);
    if (thread == kNone || (only != kNone && thread != only) || time(launch) < latest) return false;
    only = thread;
    latest = time(launch);
    notes = notes || note(launch) != kNone;
  }
  if (only == kNone) return true;
  std::fill(offset_.begin() + only + 1, offset_.end(), static_cast<std::uint32_t>(launch_.size()));
  notes_[only] = notes;
  return true;
}

// By thread, then row of the launch: a counting sort.
void LaunchOrder::sort_by_launch() {
  const auto count = static_cast<std::uint32_t>(launches_.size());
  std::vector<std::uint32_t> place;  // of a launch's next activity; first, how many it has
  assign_large(place, count, std::uint32_t{0});
  for (const LaunchIndex launch : launch_)
    if (launch < count) ++place[launch];
  // Counts become places: within the launching thread first, then within all.
  std::vector<ThreadIndex> thread_of_launch;
  if (thread_count_ > 1) assign_large(thread_of_launch, count, ThreadIndex(kNone));
  for (LaunchIndex launch{0}; launch < count; ++launch) {
    if (place[launch] == 0) continue;
    const ThreadIndex thread = thread_of(launch);
    if (thread_count_ > 1) thread_of_launch[launch] = thread;
    const std::uint32_t activities = place[launch];
    place[launch] = thread == kNone ? kNone : offset_[thread + 1];
    if (thread == kNone) continue;
    offset_[thread + 1] += activities;
    if (note(launch) != kNone) notes_[thread] = 1;
  }
  for (std::size_t thread = 0; thread < thread_count_; ++thread) offset_[thread + 1] += offset_[thread];
  for (LaunchIndex launch{0}; launch < thread_of_launch.size(); ++launch)
    if (thread_of_launch[launch] != kNone) place[launch] += offset_[thread_of_launch[launch]];
  reserve_large(activities_, offset_.back());
  activities_.resize(offset_.back());
  for (std::size_t activity = 0; activity < launch_.size(); ++activity) {
    const LaunchIndex launch = launch_[activity];
    if (launch < count && place[launch] != kNone) activities_[place[launch]++] = static_cast<ActivityIndex>(activity);
  }
}

void LaunchOrder::sort_by_time() {
  const auto by_time = [this](ActivityIndex a, ActivityIndex b) { return time(launch_[a]) < time(launch_[b]); };
  for (std::size_t thread = 0; thread < thread_count_; ++thread) {
    const auto begin = activities_.begin() + offset_[thread];
    const auto end = activities_.begin() + offset_[thread + 1];
    const auto in_order = std::is_sorted_until(begin, end, by_time);
    if (in_order == end) continue;
    // Of a window: its own launches are followed by those of earlier windows.
    if (std::is_sorted(in_order, end, by_time))
      std::inplace_merge(begin, in_order, end, by_time);
    else
      std::stable_sort(begin, end, by_time);
  }
}

// A note may name a range of a kind that does not take part; its nearest participating encloser stands in for it.
void LaunchOrder::find_stand_ins(const RangeOrder& order) {
  if (order.all_take_part()) return;
  std::vector<std::vector<RangeIndex>> absent(thread_count_);  // noted, scoped, not taking part
  bool any = false;
  RangeIndex previous = kNone;
  for (const LaunchIndex launch : launch_) {
    const RangeIndex noted = launch < launches_.size() ? note(launch) : kNone;
    if (noted == previous || noted == kNone) continue;
    previous = noted;
    if (order.takes_part(noted) || !order.is_scoped(noted)) continue;
    absent[ranges_.thread[noted]].push_back(noted);
    any = true;
  }
  if (!any) return;
  stand_in_.resize(ranges_.size());
  std::iota(stand_in_.begin(), stand_in_.end(), RangeIndex{0});
  std::vector<RangeIndex> encloser(ranges_.size(), kNone);
  const auto by_order = [&](RangeIndex a, RangeIndex b) { return order.before(a, b); };
  for (ThreadIndex thread{0}; thread < thread_count_; ++thread) {
    std::vector<RangeIndex>& noted = absent[thread];
    if (noted.empty()) continue;
    std::sort(noted.begin(), noted.end(), by_order);
    noted.erase(std::unique(noted.begin(), noted.end()), noted.end());
    const auto scoped = order.scoped(thread);
    std::vector<RangeIndex> all(scoped.size() + noted.size());
    std::merge(scoped.begin(), scoped.end(), noted.begin(), noted.end(), all.begin(), by_order);
    find_enclosers(order, all, encloser, [&](RangeIndex range) { return order.takes_part(range); });
    for (const RangeIndex range : noted) stand_in_[range] = encloser[range];
  }
}

}  // namespace rangefinder::projection
