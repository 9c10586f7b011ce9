// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string_view>

namespace rangefinder::analysis {

/// Whose time a row of OverheadTable is, by its name: the profiler's, which a run without one does not spend; else
/// CUDA's, which loads and compiles code or waits for room in a command buffer with or without a profiler.
bool is_of_profiler(std::string_view overhead);

/// Time that was recorded: the windows, or all of it; overlaps count once.
std::int64_t recorded_ns(const Timeline& timeline);

/// Time in which the profiler held up the program: rows of the profiler's on threads that have ranges or make calls,
/// and on threads that are not known; overlaps count once. Not what it does on threads of its own.
std::int64_t profiler_ns(const Timeline& timeline);

}  // namespace rangefinder::analysis
