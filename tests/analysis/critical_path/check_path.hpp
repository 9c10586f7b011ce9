// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"

#include <rangefinder/analysis/critical_path.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::testing {

/// Segments adjoin, from the window's begin to its end.
inline void check_path(const std::vector<CriticalSegment>& path, const CriticalWindow& window) {
  std::int64_t now = window.begin_ns;
  for (const CriticalSegment& segment : path) {
    REQUIRE(segment.begin_ns == now);
    REQUIRE(segment.end_ns > segment.begin_ns);
    REQUIRE_FALSE(segment.is_wait);
    now = segment.end_ns;
  }
  REQUIRE(now == window.end_ns);
}

}  // namespace rangefinder::testing
