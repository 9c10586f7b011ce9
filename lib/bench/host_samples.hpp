// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"

#include <rangefinder/timeline.hpp>

#include <string>

namespace rangefinder::bench {

/// Where the host's CPU time was in a recording, by samples of stacks.
struct HostSamples {
  Json figures;        ///< as bench-schema.json has them
  std::string folded;  ///< a line for each stack: `range;range;function;function CPU_NANOSECONDS`, outermost first
};

/// `samples` as StackSampler's to_json wrote them; what does not fit together in them is left out. Each sample stands
/// below the ranges that were open on its thread at its time.
HostSamples host_samples(JsonView samples, const Timeline& timeline);

}  // namespace rangefinder::bench
