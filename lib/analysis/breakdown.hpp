// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/breakdown.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <vector>

namespace rangefinder::analysis {

/// The public function with a projection that is there already; options.projection is not looked at.
std::vector<BreakdownRow> breakdown(const Timeline& timeline, const Projection& projection,
                                    const BreakdownOptions& options);

}  // namespace rangefinder::analysis
