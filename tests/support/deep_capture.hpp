// SPDX-License-Identifier: MIT
#pragma once

#include "support/capture_builder.hpp"

#include <cstddef>

namespace rangefinder::testing {

/// A thread whose ranges nest, one inside the other, and never side by side.
struct DeepShape {
  std::size_t depth = 1'000;
  bool own_names = false;        ///< a name for each range; else one for all
  bool operators = false;        ///< the ranges are a framework's operators, with shapes of their inputs
  std::size_t work_every = 100;  ///< one in so many ranges has work of every kind: launches, copies, waits, memory, ...
};

/// Has rows for every view of a report.
CaptureBuilder deep_capture(const DeepShape& shape);

}  // namespace rangefinder::testing
