// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rangefinder::projection {

/// The ranges that count an activity, of threads with ranges that need not nest: there an owner's parents do not tell.
class Members {
 public:
  /// False: there are so many that none are kept.
  bool add(RangeIndex range, ActivityIndex activity) {
    if (pairs_.size() == kMost) is_complete_ = false;
    if (is_complete_)
      pairs_.emplace_back(activity, range);
    else
      pairs_ = {};
    return is_complete_;
  }
  void sort() { std::sort(pairs_.begin(), pairs_.end()); }
  /// Once they are sorted: calls `use(range)` for each. False, of other threads: the owner and its parents count it.
  template <typename Use>
  bool each(ActivityIndex activity, Use use) const {
    const auto first = std::lower_bound(pairs_.begin(), pairs_.end(), std::pair(activity, RangeIndex{0}));
    for (auto pair = first; pair != pairs_.end() && pair->first == activity; ++pair) use(pair->second);
    return first != pairs_.end() && first->first == activity;
  }
  std::size_t size() const noexcept { return pairs_.size(); }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 22;
  std::vector<std::pair<ActivityIndex, RangeIndex>> pairs_;
  bool is_complete_ = true;
};

}  // namespace rangefinder::projection
