// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

// A made-up data parallel training job, as its devices run it: each rank computes at its own pace, and waits for the
// others where they communicate.
//
// A step has 800 activities: a copy, a forward pass through 24 layers with an all-gather in the host after every 12, a
// backward pass with an all-reduce of all ranks beside it after every 4, and the optimizer, which waits for those.
namespace job {

constexpr std::uint32_t kRanksPerHost = 8;
constexpr std::uint32_t kSteps = 25;
constexpr std::uint32_t kActivitiesPerStep = 800;
constexpr std::uint32_t kAllReducesPerStep = 6;
constexpr std::uint32_t kAllGathersPerStep = 2;  // of each host
constexpr std::uint32_t kCollectivesPerStep = kAllReducesPerStep + kAllGathersPerStep;

enum class OpKind : std::uint8_t {
  kBegin,  ///< a range begins
  kEnd,    ///< and ends
  kCopy,   ///< of the batch to the device
  kKernel,
  kAllReduce,  ///< of all ranks, on a stream of its own
  kAllGather,  ///< of the ranks of a host, on a stream of its own; the kernels behind it wait for it
  kWait,       ///< the kernels behind it wait for all-reduces
};

struct Op {
  OpKind kind;
  std::uint32_t name = 0;  ///< of range_names or kernel_names
};

const std::vector<const char*>& range_names();
const std::vector<const char*>& kernel_names();
/// What each rank does in each step.
const std::vector<Op>& step_ops();

/// Where a rank's device is, ns since the job began.
struct DeviceTime {
  std::int64_t compute_ns = 0;  ///< the kernels so far are done
  std::int64_t reduce_ns = 0;   ///< likewise of the stream of all-reduces
};

struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Which collective of the job it is: counted over all steps.
constexpr std::size_t collective_number(std::uint32_t step, std::uint32_t in_step) noexcept {
  return std::size_t{step} * kCollectivesPerStep + in_step;
}

/// How long a kernel takes, ns: a few per cent differ from rank to rank, step to step and kernel to kernel.
std::int64_t kernel_ns(std::uint32_t rank, std::uint32_t step, std::size_t op) noexcept;
constexpr std::int64_t kCopy_ns = 90'000;
constexpr std::int64_t kGap_ns = 900;  // between kernels of a stream

/// When each collective of the job was done, by rank.
class Schedule {
 public:
  explicit Schedule(std::uint32_t ranks, std::uint32_t steps = kSteps);
  std::uint32_t ranks() const noexcept { return ranks_; }
  std::uint32_t steps() const noexcept { return steps_; }
  std::int64_t done_ns(std::size_t collective, std::uint32_t rank) const noexcept {
    return done_ns_[collective * ranks_ + rank];
  }

 private:
  std::uint32_t ranks_, steps_;
  std::vector<std::int64_t> done_ns_;
};

/// Moves the device over a kernel or copy: when it ran.
Interval run_compute(DeviceTime& device, std::int64_t length_ns) noexcept;
/// When a collective's kernel begins.
std::int64_t collective_begin(const DeviceTime& device, OpKind kind) noexcept;
/// Moves the device over a collective.
void finish_collective(DeviceTime& device, OpKind kind, std::int64_t done_ns) noexcept;
void wait_for_reduces(DeviceTime& device) noexcept;

}  // namespace job
