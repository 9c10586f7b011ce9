// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/device.hpp"
#include "analysis/spread.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
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

/// Kernels by thread, device, call and name, of a timeline or of the windows of a capture that hold the calls of their
/// launches.
///
/// Memory: 48 bytes a kernel, of at most `most_kept` / 4; beyond, medians are exact to `precision()`.
class KernelExecutionSums {
 public:
  KernelExecutionSums(const Timeline& timeline, const KernelNaming& naming,
                      std::size_t most_kept = GroupedSamples::kAll)
      : timeline_(timeline),
        naming_(naming),
        totals_(most_kept / 4),
        apis_(most_kept / 4),
        queues_(most_kept / 4),
        durations_(most_kept / 4) {}
  KernelExecutionSums(const KernelExecutionSums&) = delete;
  KernelExecutionSums& operator=(const KernelExecutionSums&) = delete;

  /// Of the rows that the timeline holds now.
  void add();
  /// Ordered by mean total, greatest first, then process, thread, device, call, kernel.
  std::vector<KernelExecutionSum> rows() const;
  const Labels& labels() const noexcept { return labels_; }
  bool is_exact() const noexcept { return totals_.is_exact(); }
  std::string precision() const { return totals_.precision(); }
  std::uint64_t memory_bytes() const noexcept;

 private:
  using Key = std::array<std::uint32_t, 4>;  // thread, device, call, kernel
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  std::uint32_t group_of(ThreadIndex thread, DeviceIndex device, Label call, Label kernel);

  const Timeline& timeline_;
  KernelNaming naming_;
  Labels labels_{timeline_};
  std::unordered_map<Key, std::uint32_t, KeyHash> groups_;
  std::vector<KernelExecutionSum> rows_;  // without figures
  GroupedSamples totals_, apis_, queues_, durations_;
};

/// Calls of the runtime and the driver by begin.
std::vector<CallIndex> calls_by_begin(const Timeline& timeline);

}  // namespace rangefinder::analysis::nsight
