// SPDX-License-Identifier: MIT
#pragma once

#include "support/capture_builder.hpp"

#include <cstdint>
#include <random>

namespace rangefinder::testing {

struct RandomProgramShape {
  int events = 120;
  /// Of host time between two events, most; a window of time is at least 4 ms long.
  std::int64_t step_ns = 2'000'000;
  bool launches = true;  ///< false: none of the device, and no autograd or graphs
  bool autograd = true;
  bool graphs = true;
  bool elsewhere = true;  ///< ranges that end on another thread, and coroutines
  bool start_end = true;
};

/// The capture of a made-up run in which everything happens in an order that a program can have: a node of autograd
/// runs after it was made, a graph is launched after it was captured, an operation follows its launch. All times of
/// events differ.
CaptureBuilder random_program(std::mt19937_64& random, const RandomProgramShape& shape = {});

}  // namespace rangefinder::testing
