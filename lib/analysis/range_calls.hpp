// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// Time on the host in CUDA calls: of one function in the ranges of one name.
struct RangeCalls {
  StringId range = StringId::kEmpty;
  bool outside = false;              ///< of no range: `range` means nothing
  bool further_inside = false;       ///< of all functions that its ranges do not call themselves: see calls_of_ranges
  StringId call = StringId::kEmpty;  ///< with by_function; else nothing
  std::uint64_t count = 0;           ///< calls made in the ranges and those inside them
  std::int64_t inclusive_ns = 0;
  std::int64_t exclusive_ns = 0;  ///< of calls whose innermost range it is
  std::int64_t longest_ns = 0;
};

inline constexpr std::size_t kMaxRowsOfCalls = 1'000'000;

/// One row per range name and function, or per range name; ranges by their time in calls, the functions of each
/// likewise. A call inside of another (the driver's inside of the runtime's) is in that one's time, and counts as that
/// one. A range inside one of its own name adds nothing to the inclusive figures.
///
/// By function there can be as many rows as names times functions. Where that is more than `most_rows`, a name has rows
/// of the functions that its ranges call themselves, and one row, `further_inside`, of all others.
std::vector<RangeCalls> calls_of_ranges(const Timeline& timeline, const Projection& projection,
                                        const ProjectionOptions& options, bool by_function,
                                        std::size_t most_rows = kMaxRowsOfCalls);

}  // namespace rangefinder::analysis
