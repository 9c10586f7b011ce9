// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace rangefinder::base {

/// [begin, end) in nanoseconds.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Length of the union. `sorted` must be ordered by begin.
inline std::int64_t union_length(std::span<const Interval> sorted) noexcept {
  std::int64_t total = 0;
  std::int64_t covered_to = 0;
  bool first = true;
  for (const Interval& interval : sorted) {
    if (first || interval.begin > covered_to) {
      total += interval.end - interval.begin;
      covered_to = interval.end;
      first = false;
    } else if (interval.end > covered_to) {
      total += interval.end - covered_to;
      covered_to = interval.end;
    }
  }
  return total;
}

/// Sorts by begin, then measures the union.
inline std::int64_t sort_and_union_length(std::span<Interval> intervals) noexcept {
  const auto by_begin = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), by_begin))
    std::sort(intervals.begin(), intervals.end(), by_begin);
  return union_length(intervals);
}

}  // namespace rangefinder::base
