// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"
#include "compare/side.hpp"

#include <rangefinder/compare.hpp>

#include <span>
#include <string>
#include <vector>

namespace rangefinder::compare {

/// Compares two sides, each with all of its runs.
///
/// Cost: sorts cells and paths; of each cell the paths around it, at most kDeepestPath, are looked at.
RunDifference difference_of(std::span<const Run> baseline, std::span<const Run> candidate);

}  // namespace rangefinder::compare
