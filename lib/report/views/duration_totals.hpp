// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

namespace rangefinder::report {

/// Durations of what a row stands for, in nanoseconds.
struct DurationTotals {
  std::uint64_t count = 0;
  std::int64_t total = 0, min = 0, max = 0;

  void add(std::int64_t duration) noexcept {
    min = count == 0 ? duration : std::min(min, duration);
    max = std::max(max, duration);
    total += duration;
    count += 1;
  }
};

}  // namespace rangefinder::report
