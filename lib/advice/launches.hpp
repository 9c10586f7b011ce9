// SPDX-License-Identifier: MIT
#pragma once

#include "advice/context.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>

// What several rules need of device activities.
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

/// Calls `judge(kernel, configuration)` with each kernel of the judged steps whose launch configuration is known. It
/// answers whether the device is known well enough to judge it. False: there are kernels, and none could be judged.
template <typename JudgeKernel>
bool judge_kernels(Context& context, JudgeKernel judge) {
  const Timeline& timeline = context.timeline();
  bool any = false, any_judged = false;
  for (const ActivityIndex kernel : context.work()) {
    if (timeline.activities.kind[kernel] != ActivityKind::kKernel) continue;
    any = true;
    const KernelDetail* const launch = launch_configuration(timeline, kernel);
    if (launch != nullptr && judge(kernel, *launch)) any_judged = true;
  }
  return any_judged || !any;
}

}  // namespace rangefinder::advice
