// SPDX-License-Identifier: MIT
#pragma once

#include "base/intervals.hpp"

#include <cstdint>
#include <span>
#include <vector>

// Which intervals lie inside which, as Nsight compares them: both ends included, and nothing assumed about nesting,
// since start/end ranges may overlap in any way. Each function is O((n + m) log n).
namespace rangefinder::analysis::nsight {

/// For each query the tightest container around it: the shortest, of equally short ones the first in `containers`;
/// kNone when there is none.
std::vector<std::uint32_t> tightest_around(std::span<const base::Interval> containers,
                                           std::span<const base::Interval> queries);

/// The same among the containers themselves, each seen from inside the others. Two that are equal contain each other.
std::vector<std::uint32_t> tightest_parents(std::span<const base::Interval> containers);

/// Work that an interval of host time caused.
struct CausedWork {
  base::Interval cause;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
};

struct ContainedWork {
  std::int64_t first_ns = 0;  ///< meaningless when count is 0
  std::int64_t last_ns = 0;
  std::uint64_t count = 0;  ///< causes inside the container
};

/// For each container what the causes inside it did.
std::vector<ContainedWork> work_inside(std::span<const base::Interval> containers, std::span<const CausedWork> work);

/// For each query whether any container is around it.
std::vector<bool> any_around(std::span<const base::Interval> containers, std::span<const base::Interval> queries);

}  // namespace rangefinder::analysis::nsight
