// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

// Nsight's definitions as loops over every pair, to compare the sweeps with.
namespace rangefinder::testing {

/// Random ranges (nested, overlapping, equal, of both styles, some ownerless or ended elsewhere) on a few threads of
/// two processes, with calls, launches, kernels and copies. Times are small, so that ties are common.
Timeline random_nsight_timeline(std::mt19937_64& random);

struct SlowProjected {
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::set<std::uint64_t> correlations;
};
/// By range; those without work are absent. `outside` gets the work that no range is around.
std::map<RangeIndex, SlowProjected> slow_gpu_projection(const Timeline& timeline, SlowProjected& outside);

/// name ("" and style "" outside), style, thread, kernel -> durations; and the ranges of that name with that kernel.
using SlowKernelKey = std::tuple<std::string, std::string, ThreadIndex, std::string>;
struct SlowKernelGroup {
  std::vector<std::int64_t> durations;
  std::set<RangeIndex> ranges;
};
std::map<SlowKernelKey, SlowKernelGroup> slow_kernels_in_ranges(const Timeline& timeline);

}  // namespace rangefinder::testing
