// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/torch/memory.hpp>

#include <string>

// LibTorch's caching allocator for devices; everything says why it cannot where LibTorch or the machine has no CUDA.
namespace rangefinder::torch {

/// Hears of the allocator's events until `stop_devices` was called as often. Empty, or why it cannot.
std::string start_devices(const MemoryRecordingOptions& options);
void stop_devices(const MemoryRecordingOptions& options) noexcept;
/// count_device_memory where CUDA is initialised already. Throws what LibTorch throws.
void count_devices();

}  // namespace rangefinder::torch
