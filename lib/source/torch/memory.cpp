// SPDX-License-Identifier: MIT
#include "source/torch/device_allocator.hpp"
#include "source/torch/host_allocator.hpp"

#include <rangefinder/detail/memory.hpp>
#include <rangefinder/torch/memory.hpp>

#include <atomic>
#include <cstdint>
#include <exception>

namespace rangefinder::torch {
namespace {

constexpr const char* kRecorded = "recorded";

// How many recordings want statistics at steps.
std::atomic<std::uint32_t> counting_host{0};
std::atomic<std::uint32_t> counting_devices{0};

std::string state_of(bool wanted, const std::string& reason) {
  return !wanted ? "off" : reason.empty() ? kRecorded : reason;
}

bool count_memory() noexcept {
  if (counting_host.load(std::memory_order_relaxed) != 0) count_host();
  if (counting_devices.load(std::memory_order_relaxed) == 0) return true;
  try {
    count_devices();  // CUDA is initialised: a recording of devices did it
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

}  // namespace

MemoryRecording::MemoryRecording(const MemoryRecordingOptions& options)
    : options_(options),
      host_state_(state_of(options.host, options.host ? start_host() : std::string())),
      cuda_state_(state_of(options.cuda, options.cuda ? start_devices(options) : std::string())) {
  if (!options.statistics_at_steps) return;
  if (host_state_ == kRecorded) counting_host.fetch_add(1);
  if (cuda_state_ == kRecorded) counting_devices.fetch_add(1);
  detail::set_step_hook(&count_memory);
}

MemoryRecording::~MemoryRecording() {
  if (options_.statistics_at_steps) {
    // The last step ends with the session, when no recording listens any more. A process that was forked records
    // nothing, and may find the allocator's locks taken for good.
    if (detail::is_recording()) (void)count_memory();
    if (host_state_ == kRecorded) counting_host.fetch_sub(1);
    if (cuda_state_ == kRecorded) counting_devices.fetch_sub(1);
  }
  if (host_state_ == kRecorded) stop_host();
  if (cuda_state_ == kRecorded) stop_devices(options_);
}

}  // namespace rangefinder::torch
