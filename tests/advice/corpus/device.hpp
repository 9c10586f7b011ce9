// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>

// The machine that the programs of the corpus run on: the device that support/fake_cupti has.
namespace rangefinder::testing::corpus {

inline constexpr char kEngineName[] = "pt_autograd_0";
inline constexpr char kDeviceName[] = "NVIDIA H200";
inline constexpr std::uint32_t kMultiprocessors = 132;

// Its peaks: dense, a nanosecond.
inline constexpr double kBf16Flops = 989e3, kTf32Flops = 494e3, kFp32Flops = 67e3;
inline constexpr double kMemoryBytes = 4800;
// Copies between host and device, a nanosecond; from pageable memory through the driver's staging buffer.
inline constexpr double kPinnedBytes = 50, kPageableBytes = 8;
// What NCCL reaches over NVLink, as bus bandwidth.
inline constexpr double kLinkBytes = 450;

inline DeviceInfo device_info(ProcessIndex process, int id) {
  DeviceInfo info;
  info.process = process;
  info.id = static_cast<std::uint32_t>(id);
  info.name = kDeviceName;
  info.compute_major = 9;
  info.compute_minor = 0;
  info.memory_bytes = std::uint64_t{141} << 30;
  info.multiprocessors = kMultiprocessors;
  info.warp_size = 32;
  info.max_threads_per_block = 1024;
  info.max_threads_per_multiprocessor = 2048;
  info.max_blocks_per_multiprocessor = 32;
  info.registers_per_block = 65536;
  info.registers_per_multiprocessor = 65536;
  info.shared_bytes_per_block = 49152;
  info.shared_bytes_per_block_optin = 232448;
  info.shared_bytes_per_multiprocessor = 233472;
  return info;
}

}  // namespace rangefinder::testing::corpus
