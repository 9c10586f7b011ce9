// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/spans.hpp"
#include "analysis/step_rules.hpp"

#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/analysis/stragglers.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace rangefinder::analysis {

/// A stretch of a rank's time that stands for a step.
struct StepFrame {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::size_t column;  ///< of Stragglers::steps
};

/// Fills Stragglers::steps, ranks (process, steps, kernel scores) and cells (without excess), or says why not in
/// `abstained`.
///
/// O(n log n) in steps, ranges, activities and collectives; memory 40 bytes an activity while steps are found, then 4
/// an activity.
void fill_straggler_cells(const Timeline& timeline, const MatchedCollectives& matched, const StepRules& rules,
                          std::size_t fewest_steps, Stragglers& out);

/// The time that calls of collectives kept threads of a rank's host from going on, for each rank: disjoint, in order.
std::map<ProcessIndex, std::vector<Span>> blocked_by_collectives(const Timeline& timeline);

}  // namespace rangefinder::analysis
