// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rangefinder::bench {

/// What all devices together do; while several things run at once, the first of these.
enum class DeviceState : std::size_t {
  kComputing,      ///< kernels, memsets, copies within a device
  kCommunicating,  ///< kernels of NCCL and RCCL, copies between devices
  kToDevice,       ///< copies from the host
  kToHost,
  kIdle,
};

/// One state, from one change to the next.
struct DeviceStretch {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
  DeviceState state = DeviceState::kIdle;
  // Of kIdle: an activity that ended at its begin, and one that begins at its end.
  ActivityIndex before = kNone;
  ActivityIndex next = kNone;
};

/// From the begin of time to its end, without holes. O(n log n) in activities.
std::vector<DeviceStretch> device_stretches(const Timeline& timeline);

}  // namespace rangefinder::bench
