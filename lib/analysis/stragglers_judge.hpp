// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/stragglers.hpp>

namespace rangefinder::analysis {

/// From RankStep's times: excesses of cells and ranks, and who stands out by its own work, with the cause. Appends to
/// `stragglers` and `odd`; fills `slow_steps`.
void judge_ranks(const StragglerOptions& options, Stragglers& out);

}  // namespace rangefinder::analysis
