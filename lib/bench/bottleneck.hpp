// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"

#include <optional>
#include <string>

namespace rangefinder::bench {

/// What bounds a variant, by rules with a measured trigger each. Without the figures that a rule needs, the resource is
/// "-" and the evidence says what is missing.
struct Bottleneck {
  std::string resource = "-";  ///< "CPU", "GPU", "GPU compute", "GPU memory", "I/O", "communication"
  std::string evidence;
  std::string next = "-";
  std::optional<double> processor;  ///< CPU time / wall time: 1 is one core
  std::optional<double> device;     ///< time with device work / wall time, in the profiled steps
};

/// `variant` is a variant of a results document.
Bottleneck bottleneck_of(JsonView variant, const std::string& device);

}  // namespace rangefinder::bench
