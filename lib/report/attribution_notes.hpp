// SPDX-License-Identifier: MIT
#pragma once

#include "report/projected_timeline.hpp"

#include <string>
#include <vector>

namespace rangefinder::report {

/// What a reader has to know about who owns device work: that it is not who launched it, or that the input cannot say
/// what was asked for.
std::vector<std::string> attribution_notes(const ProjectedTimeline& projected);

}  // namespace rangefinder::report
