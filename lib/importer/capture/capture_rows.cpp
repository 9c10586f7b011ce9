// SPDX-License-Identifier: MIT
#include "importer/capture/capture_rows.hpp"

namespace rangefinder::importer {

void describe_device(const format::DeviceRow& row, std::string_view name, DeviceInfo& device) {
  device.id = row.id;
  device.name = name;
  device.compute_major = row.compute_major;
  device.compute_minor = row.compute_minor;
  device.memory_bytes = row.memory_bytes;
  device.multiprocessors = row.multiprocessors;
  device.warp_size = row.warp_size;
  device.max_threads_per_block = row.max_threads_per_block;
  device.max_threads_per_multiprocessor = row.max_warps_per_multiprocessor * row.warp_size;
  device.max_blocks_per_multiprocessor = row.max_blocks_per_multiprocessor;
  device.registers_per_block = row.registers_per_block;
  device.registers_per_multiprocessor = row.registers_per_multiprocessor;
  device.shared_bytes_per_block = row.shared_bytes_per_block;
  device.shared_bytes_per_multiprocessor = row.shared_bytes_per_multiprocessor;
}

KernelDetail kernel_detail(const format::KernelRow& row) noexcept {
  return {{row.grid_x, row.grid_y, row.grid_z},
          {row.block_x, row.block_y, row.block_z},
          {row.cluster_x, row.cluster_y, row.cluster_z},
          row.registers_per_thread,
          row.static_shared_bytes,
          row.dynamic_shared_bytes,
          row.local_bytes_per_thread,
          row.launch_type,
          row.shared_executed_bytes,
          row.max_active_clusters};
}

CopyDetail copy_detail(const format::MemcpyRow& row) noexcept {
  CopyDetail detail;
  detail.copy_kind = row.copy_kind;
  detail.source_memory = row.source_memory;
  detail.target_memory = row.target_memory;
  if (row.is_peer != 0) {
    detail.source_device = row.source_device;
    detail.target_device = row.target_device;
  }
  detail.asynchronous = (row.flags & 1) != 0;
  return detail;
}

CopyDetail copy_detail(const format::MemsetRow& row) noexcept {
  CopyDetail detail;
  detail.target_memory = row.memory;
  detail.value = row.value;
  detail.asynchronous = (row.flags & 1) != 0;
  return detail;
}

}  // namespace rangefinder::importer
