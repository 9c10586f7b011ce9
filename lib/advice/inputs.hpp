// SPDX-License-Identifier: MIT
#pragma once

#include "advice/context.hpp"

#include <rangefinder/timeline.hpp>

#include <vector>

namespace rangefinder::advice {

/// Ranges that get the input of steps: those of the part `data`. In processes without any, what each step begins with,
/// where that is the same range in nearly all of them.
///
/// Cost: O(n log n) in ranges, calls and launches.
std::vector<RangeIndex> input_ranges(Context& context);

}  // namespace rangefinder::advice
