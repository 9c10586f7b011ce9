// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>

// Facts about one device activity that several rules need.
namespace rangefinder::advice {

/// To launch a kernel and to let its last block end takes some 5 us of the device whatever it does: the time of shorter
/// kernels says nothing about how they use it.
inline constexpr std::int64_t kShortestKernelNs = 10'000;

inline std::int64_t length_of(const Timeline& timeline, ActivityIndex activity) noexcept {
  const ActivityTable& activities = timeline.activities;
  return std::max<std::int64_t>(detail::minus(activities.end_ns[activity], activities.begin_ns[activity]), 0);
}

/// Of kernels whose configuration is known; else null.
inline const KernelDetail* launch_configuration(const Timeline& timeline, ActivityIndex activity) noexcept {
  const std::uint32_t detail = timeline.activities.detail[activity];
  if (timeline.activities.kind[activity] != ActivityKind::kKernel || detail >= timeline.kernel_details.size())
    return nullptr;
  return &timeline.kernel_details[detail];
}

inline DeviceIndex device_index_of(const Timeline& timeline, ActivityIndex activity) noexcept {
  return timeline.streams[timeline.activities.stream[activity]].device;
}
inline const DeviceInfo& device_of(const Timeline& timeline, ActivityIndex activity) noexcept {
  return timeline.devices[device_index_of(timeline, activity)];
}

/// The call that launched it; kNone where that is not in the data.
inline CallIndex call_of(const Timeline& timeline, ActivityIndex activity) noexcept {
  const LaunchIndex launch = timeline.activities.launch[activity];
  return launch < timeline.launches.size() ? timeline.launches.call[launch] : CallIndex(kNone);
}

}  // namespace rangefinder::advice
