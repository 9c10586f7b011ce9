// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>

namespace rangefinder::bench {

/// How long data moved, and how much of that kernels ran beside it.
struct CopyOverlap {
  std::int64_t copy_ns = 0;    ///< at least one copy ran
  std::int64_t hidden_ns = 0;  ///< and at least one kernel of the same device
};

/// Of all devices. O(n log n).
CopyOverlap copy_overlap(const Timeline& timeline);

}  // namespace rangefinder::bench
