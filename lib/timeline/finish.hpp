// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

// What an importer does once all rows are in the tables.
namespace rangefinder::timeline {

/// Joins activities to launches and launches to calls by process and correlation id, and makes a launch of every call
/// that has activities and no noted launch. A correlation id that was used again (they wrap) means the last launch that
/// began before the activity.
void join_launches(Timeline& timeline);

/// The first and last time of anything in tables, window by window or at once.
class Extent {
 public:
  /// Of the first `ranges` those that `counts(range)` are taken.
  template <typename Counts>
  void add(const Timeline& timeline, std::size_t ranges, Counts counts) {
    for (RangeIndex row{0}; row < ranges; ++row)
      if ((timeline.ranges.flags[row] & kBeforeRecording) == 0 && counts(row))
        take(timeline.ranges.begin_ns[row], timeline.ranges.end_ns[row]);
    add_rest(timeline);
  }
  /// Into begin_ns and end_ns.
  void write(Timeline& timeline) const noexcept;

 private:
  void add_rest(const Timeline& timeline);
  void take(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
    begin_ns_ = std::min(begin_ns_, begin_ns);
    end_ns_ = std::max(end_ns_, end_ns);
  }

  std::int64_t begin_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns_ = std::numeric_limits<std::int64_t>::min();
};

/// Sets begin_ns and end_ns from the tables.
void measure_extent(Timeline& timeline);

/// Puts counters of ranges in order of range, and samples in order of device, metric and begin.
void sort_metrics(Timeline& timeline);

}  // namespace rangefinder::timeline
