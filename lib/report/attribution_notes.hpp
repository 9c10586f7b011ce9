// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/attribution_totals.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <string>
#include <vector>

namespace rangefinder::report {

/// What a reader has to know about who owns device work: that it is not who launched it, or that the input cannot say
/// what was asked for. `timeline` says what the input is; nothing of an input without device work.
std::vector<std::string> attribution_notes(const analysis::AttributionTotals& totals, const Timeline& timeline,
                                           Attribution wanted);

}  // namespace rangefinder::report
