// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// What all benchmarks of planted_worker share: a clock and an allocator of their own, and faults from the environment.
namespace planted {

extern std::int64_t clock_ns;

void allocate(std::int64_t bytes);

/// A factor from the environment: the fault that appears between two runs. 1: not set.
double factor(const char* name);

/// Those of several ranks, planted_ranks.cpp.
void add_benchmarks_of_ranks();

}  // namespace planted
