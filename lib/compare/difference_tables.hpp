// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"

#include <rangefinder/compare.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace rangefinder::compare {

/// Figures of steps, one a row.
report::Table figures_table(const RunDifference& difference);

/// The times of one DifferenceBy, as people want them: at most `top` rows (0: all) of those that changed.
report::Table times_table(std::span<const TimeDifference> times, std::size_t top);

/// What changed of the memory at the peak, at most `top` rows (0: all).
report::Table memory_table(std::span<const MemoryDifference> memory, std::size_t top);

/// All times, for programs.
report::Table all_times_table(const RunDifference& difference);

/// "step 12.30 ms, was 11.00 ms: +1.300 ms (+11.8 %): count +1.000 ms, kernel +300.0 us"
std::string step_sentence(const RunDifference& difference);

}  // namespace rangefinder::compare
