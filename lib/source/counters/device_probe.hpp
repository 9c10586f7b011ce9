// SPDX-License-Identifier: MIT
#pragma once

#include "source/counters/profiler_api.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rangefinder::source::counters {

/// What hardware counters of a device can do for this process.
struct DeviceProbe {
  std::uint32_t device = 0;
  std::string chip;  ///< empty: not known
  bool counts_ranges = false;
  bool samples = false;
  std::string problem;  ///< why not, and what to do; empty where both are possible and allowed
};

/// Asks CUPTI about each device, and whether this user may sample: sampling is enabled for a moment and disabled again.
/// Initialises CUDA in the process; a context is not made.
///
/// Errors: kNotFound without a driver, CUPTI or device; kUnsupported with an old CUPTI.
Result<std::vector<DeviceProbe>> probe_devices(const ProfilerApi& api);

}  // namespace rangefinder::source::counters
