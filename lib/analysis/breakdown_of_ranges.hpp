// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/device_states.hpp"

#include <rangefinder/analysis/breakdown.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <vector>

namespace rangefinder::analysis {

/// BreakdownBy::kRange.
///
/// Cost: O(n log n) in activities and ranges, however deep they nest.
std::vector<BreakdownRow> breakdown_of_ranges(const Timeline& timeline, const Projection& projection,
                                              DeviceStates& states);

}  // namespace rangefinder::analysis
