// SPDX-License-Identifier: MIT
#include "source/counters/device_facts.hpp"

#include <array>
#include <span>

namespace rangefinder::source::counters {

void DeviceFacts::write(RowSink& sink) const {
  format::DeviceRow named = row;
  named.name = sink.name(name);
  sink.write(std::span<const format::DeviceRow>(&named, 1));
}

DeviceFacts facts_of(const ProfilerApi& api, std::uint32_t device) {
  const auto number = static_cast<CUdevice>(device);
  const auto attribute = [&](CUdevice_attribute which) -> std::uint32_t {
    int value = 0;
    return api.cuDeviceGetAttribute(&value, which, number) == CUDA_SUCCESS && value > 0
               ? static_cast<std::uint32_t>(value)
               : 0;
  };
  DeviceFacts facts;
  std::array<char, 256> name{};
  if (api.cuDeviceGetName(name.data(), static_cast<int>(name.size()), number) == CUDA_SUCCESS) {
    name.back() = '\0';
    facts.name = name.data();
  }
  std::size_t bytes = 0;
  if (api.cuDeviceTotalMem_v2(&bytes, number) != CUDA_SUCCESS) bytes = 0;
  format::DeviceRow& row = facts.row;
  row.id = device;
  row.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  row.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  row.memory_bytes = bytes;
  row.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  row.warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  row.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  const std::uint32_t threads = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  row.max_warps_per_multiprocessor = row.warp_size != 0 ? threads / row.warp_size : 0;
  row.max_blocks_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  row.registers_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  row.registers_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  row.shared_bytes_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  row.shared_bytes_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  row.core_clock_khz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  row.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  return facts;
}

}  // namespace rangefinder::source::counters
