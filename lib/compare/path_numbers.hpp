// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace rangefinder::compare {

/// The paths of a timeline's annotations. Ranges that are steps themselves (torch.profiler's ProfilerStep#7) are left
/// out, so that what is inside has the same path in every step.
struct PathNumbers {
  std::vector<PathNode> nodes;
  std::vector<std::uint32_t> of_range;  ///< by range; kNone: in no path
  std::vector<bool> is_named;           ///< by range: the last name of its path is its own

  /// `projection` of annotations. O(ranges).
  PathNumbers(const Timeline& timeline, const Projection& projection);
};

/// Whether a range of that name is a step itself: torch.profiler's, in older traces among the operators.
bool is_step_name(std::string_view name) noexcept;

}  // namespace rangefinder::compare
