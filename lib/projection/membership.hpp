// SPDX-License-Identifier: MIT
#pragma once

#include "projection/launch_order.hpp"
#include "projection/members.hpp"
#include "projection/range_order.hpp"
#include "projection/result.hpp"

#include <vector>

namespace rangefinder::projection {

/// A thread whose notes contradict its times, or whose scoped ranges both carry notes and cross: decides launch by
/// launch which ranges contain it, and sorts. Right for anything; in cost and memory, launches times depth. No
/// capture by rangefinder leads here. `scratch` has room for every range.
void project_by_membership(const Timeline& timeline, const RangeOrder& order, const LaunchOrder& launches,
                           ThreadIndex thread, std::vector<RangeIndex>& scratch, Output& output);

/// Which ranges contain what the thread launched. Cost: as above, up to what Members keep.
void find_members(const RangeOrder& order, const LaunchOrder& launches, ThreadIndex thread,
                  std::vector<RangeIndex>& scratch, Members& members);

}  // namespace rangefinder::projection
