// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// Time on the host in CUDA calls: of one function in the ranges of one name.
struct RangeCalls {
  StringId range = StringId::kEmpty;
  bool outside = false;              ///< of no range: `range` means nothing
  StringId call = StringId::kEmpty;  ///< with by_function; else nothing
  std::uint64_t count = 0;           ///< calls made in the ranges and those inside them
  std::int64_t inclusive_ns = 0;
  std::int64_t exclusive_ns = 0;  ///< of calls whose innermost range it is
  std::int64_t longest_ns = 0;
};

/// A row a range name and function, or a range name; ranges by their time in calls, the functions of each likewise. A
/// call inside of another (the driver's inside of the runtime's) is in that one's time, and counts as that one. A range
/// inside one of its own name adds nothing to the inclusive figures.
std::vector<RangeCalls> calls_of_ranges(const Timeline& timeline, const Projection& projection,
                                        const ProjectionOptions& options, bool by_function);

}  // namespace rangefinder::analysis
