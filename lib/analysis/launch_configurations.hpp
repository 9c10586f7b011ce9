// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/spread.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// Kernels of one name on one device that were launched alike.
struct LaunchConfiguration {
  StringId kernel = StringId::kEmpty;
  DeviceIndex device{0};
  KernelDetail detail;  ///< of the first one
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;    ///< time on the device
  std::uint64_t in_graphs = 0;  ///< nodes of CUDA graphs among them
  Spread delay;                 ///< begin of the launching call to begin of the kernel
  Spread queue;                 ///< end of the launching call to begin of the kernel, of those that began later
  Spread command_buffer;        ///< put into the command buffer to handed to the device; with latency timestamps
  Spread device_queue;          ///< handed to the device to begin; with latency timestamps
};

/// Kernels whose configuration is known, by time on the device.
std::vector<LaunchConfiguration> launch_configurations(const Timeline& timeline);

}  // namespace rangefinder::analysis
