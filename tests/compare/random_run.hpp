// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <random>

namespace rangefinder::testing {

inline constexpr std::int64_t kRandomRunEnd = 400;  ///< of all times of a random run

/// A small run: steps on one thread, nested ranges and operators on it, kernels of several families, communication and
/// copies on one or two devices that overlap each other, some without a launch.
Timeline random_run(std::mt19937_64& random);

/// The same with times of any size, ranges that do not nest and steps that overlap: what a file may claim.
Timeline hostile_run(std::mt19937_64& random);

}  // namespace rangefinder::testing
