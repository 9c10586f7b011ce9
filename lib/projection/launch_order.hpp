// SPDX-License-Identifier: MIT
#pragma once

#include "projection/range_order.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::projection {

/// When an activity really was launched; its begin where that is not known.
inline std::int64_t launched_at(const Timeline& timeline, ActivityIndex activity) noexcept {
  const LaunchIndex launch = timeline.activities.launch[activity];
  return launch < timeline.launches.size() ? timeline.launches.time_ns[launch] : timeline.activities.begin_ns[activity];
}

/// Activities in some order.
class ActivityOrder {
 public:
  ActivityOrder(const ActivityIndex* rows, std::uint32_t first, std::uint32_t size) noexcept
      : rows_(rows), first_(first), size_(size) {}
  ActivityIndex operator[](std::uint32_t position) const noexcept {
    return rows_ == nullptr ? ActivityIndex(first_ + position) : rows_[position];
  }
  std::uint32_t size() const noexcept { return size_; }

 private:
  const ActivityIndex* rows_;  // null: from `first_` on, as they are in the table
  ActivityIndex first_;
  std::uint32_t size_;
};

/// The activities of each launching thread in order of their launches: where every activity was launched. Those whose
/// launch is not known are left out.
///
/// `launches` are the timeline's and `launch_of_activity` that of its activities, which is attribution `launch`.
/// Another attribution moves launches to other places, or gives activities another launch to count at; the sweeps do
/// not see a difference.
class LaunchOrder {
 public:
  LaunchOrder(const Timeline& timeline, const LaunchTable& launches, std::span<const LaunchIndex> launch_of_activity,
              const RangeOrder& order);

  /// By time of launch, then row of the launch, then row of the activity.
  ActivityOrder of(ThreadIndex thread) const noexcept {
    const std::uint32_t size = offset_[thread + 1] - offset_[thread];
    return {activities_.empty() ? nullptr : activities_.data() + offset_[thread], offset_[thread], size};
  }
  bool has_notes(ThreadIndex thread) const noexcept { return notes_[thread] != 0; }

  LaunchIndex launch_of(ActivityIndex activity) const noexcept { return launch_[activity]; }
  /// Of the place that counts.
  std::int64_t time(LaunchIndex launch) const noexcept { return launches_.time_ns[launch]; }
  /// When the activity really was launched; its begin where that is not known.
  std::int64_t launched(ActivityIndex activity) const noexcept { return launched_at(timeline_, activity); }
  /// The range that the recording noted, or kNone. A range without a known thread tells nothing.
  RangeIndex note(LaunchIndex launch) const noexcept {
    const RangeIndex range = launches_.range[launch];
    return range < ranges_.size() && ranges_.thread[range] < thread_count_ ? range : kNone;
  }
  /// Of a noted scoped range: itself, or its nearest encloser when it takes no part; kNone when there is none.
  RangeIndex participant(RangeIndex noted) const noexcept { return stand_in_.empty() ? noted : stand_in_[noted]; }

  /// Whether a stream's activities never overlap, whoever launched them: then busy time is the sum of durations.
  bool never_overlaps(StreamIndex stream) const noexcept { return !overlaps_[stream]; }

 private:
  void look_for_overlap(const Timeline& timeline);
  void measure_overlap(const Timeline& timeline);
  bool take_as_they_are();
  void sort_by_launch();
  void sort_by_time();
  void find_stand_ins(const RangeOrder& order);
  ThreadIndex thread_of(LaunchIndex launch) const noexcept;

  const LaunchTable& launches_;
  const Timeline& timeline_;
  const RangeTable& ranges_;
  std::span<const LaunchIndex> launch_;  // per activity
  std::size_t thread_count_;
  std::vector<bool> overlaps_;             // per stream
  std::vector<ActivityIndex> activities_;  // empty when the table itself is in order
  std::vector<std::uint32_t> offset_;      // per thread, and the end
  std::vector<std::uint8_t> notes_;        // per thread
  std::vector<RangeIndex> stand_in_;       // per range; empty when every noted range takes part
};

}  // namespace rangefinder::projection
