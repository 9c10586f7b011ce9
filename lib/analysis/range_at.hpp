// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis {

/// A point in a thread's time.
struct HostMoment {
  ThreadIndex thread = kNone;  ///< or kNone: nowhere
  std::int64_t time_ns = 0;
};

/// For each moment the innermost range that takes part and was open then, as projection means it; kNone without one.
/// Moments may come in any order. O((n + m) log n).
std::vector<RangeIndex> ranges_at(const Timeline& timeline, const ProjectionOptions& options,
                                  std::span<const HostMoment> moments);

}  // namespace rangefinder::analysis
