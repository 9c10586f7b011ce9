// SPDX-License-Identifier: MIT
#pragma once

#include "projection/stream_rows.hpp"

#include <rangefinder/projection.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rangefinder::projection {

/// The figures of one range from a list of its activities, by sorting them: right for any set in any order. Reorders
/// `activities`.
DeviceFigures figures_of_set(const Timeline& timeline, RangeIndex range, std::span<ActivityIndex> activities,
                             StreamRows& rows);

/// Ranges and activities in them, arranged by range.
class Membership {
 public:
  void add(RangeIndex range, ActivityIndex activity) { pairs_.emplace_back(range, activity); }
  /// Calls `use(range, activities)` for each range that has any; leaves nothing here.
  template <typename Use>
  void each(Use&& use) {
    sort();
    std::vector<ActivityIndex> activities;
    for (std::size_t begin = 0; begin < pairs_.size();) {
      std::size_t end = begin;
      activities.clear();
      for (; end < pairs_.size() && pairs_[end].first == pairs_[begin].first; ++end)
        activities.push_back(pairs_[end].second);
      use(pairs_[begin].first, std::span<ActivityIndex>(activities));
      begin = end;
    }
    pairs_.clear();
  }

 private:
  void sort();
  std::vector<std::pair<RangeIndex, ActivityIndex>> pairs_;
};

}  // namespace rangefinder::projection
