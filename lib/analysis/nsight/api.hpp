// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/device.hpp"
#include "analysis/spread.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder::analysis::nsight {

/// A kernel and the call that launched it: row of cuda_kern_exec_trace.
struct KernelExecution {
  ActivityIndex kernel;
  CallIndex call;
  std::int64_t queue_ns;  ///< begin of the kernel - end of the call; negative: it began before the call returned
  std::int64_t total_ns;  ///< from the call's begin to the later of the two ends
};
/// Kernels whose call was recorded, by begin of the call, then of the kernel.
std::vector<KernelExecution> kernel_executions(const Timeline& timeline);

/// Row of cuda_kern_exec_sum.
struct KernelExecutionSum {
  ThreadIndex thread;
  DeviceIndex device;
  Label call;
  Label kernel;
  Spread total, api, queue, duration;  ///< `queue` counts only kernels that waited
};
/// Ordered by mean total, greatest first, then process, thread, device, call, kernel.
std::vector<KernelExecutionSum> kernel_execution_sum(const Timeline& timeline, const KernelNaming& naming,
                                                     Labels& labels);

/// Calls of the runtime and the driver by begin.
std::vector<CallIndex> calls_by_begin(const Timeline& timeline);

}  // namespace rangefinder::analysis::nsight
