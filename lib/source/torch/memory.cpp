// SPDX-License-Identifier: MIT
#include "source/torch/device_allocator.hpp"
#include "source/torch/host_allocator.hpp"

#include <rangefinder/torch/memory.hpp>

namespace rangefinder::torch {
namespace {

constexpr const char* kRecorded = "recorded";

std::string state_of(bool wanted, const std::string& reason) {
  return !wanted ? "off" : reason.empty() ? kRecorded : reason;
}

}  // namespace

MemoryRecording::MemoryRecording(const MemoryRecordingOptions& options)
    : options_(options),
      host_state_(state_of(options.host, options.host ? start_host() : std::string())),
      cuda_state_(state_of(options.cuda, options.cuda ? start_devices(options) : std::string())) {}

MemoryRecording::~MemoryRecording() {
  if (host_state_ == kRecorded) stop_host();
  if (cuda_state_ == kRecorded) stop_devices(options_);
}

}  // namespace rangefinder::torch
