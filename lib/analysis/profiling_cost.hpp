// SPDX-License-Identifier: MIT
#pragma once

#include "base/intervals.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::analysis {

/// Whose time a row of OverheadTable is, by its name: the profiler's, which a run without one does not spend; else
/// CUDA's, which loads and compiles code or waits for room in a command buffer with or without a profiler.
bool is_of_profiler(std::string_view overhead);

/// Time that was recorded: the windows, or all of it; overlaps count once.
std::int64_t recorded_ns(const Timeline& timeline);

/// Time in which the profiler held up the program: rows of the profiler's on threads that have ranges or make calls,
/// and on threads that are not known; overlaps count once. Not what it does on threads of its own.
std::int64_t profiler_ns(const Timeline& timeline);

/// The same, window by window. Memory: a row for each of the profiler's.
class ProfilerTime {
 public:
  void add(const Timeline& timeline);
  std::int64_t total_ns() const;

 private:
  std::vector<bool> is_of_program_;  // by thread
  std::vector<std::pair<ThreadIndex, base::Interval>> spans_;
};

}  // namespace rangefinder::analysis
