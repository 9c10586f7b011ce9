// SPDX-License-Identifier: MIT
#pragma once

#include "format/rows.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

// Device rows of a capture, in the words of a timeline.
namespace rangefinder::importer {

/// CUPTI's "no stream" in synchronisation records.
inline constexpr std::uint32_t kNoStream = 0xFFFFFFFFu;

/// All but the process.
void describe_device(const format::DeviceRow& row, std::string_view name, DeviceInfo& device);
KernelDetail kernel_detail(const format::KernelRow& row) noexcept;
/// `detail` is what kernel_detail() gives; it is not made to find that out.
inline bool is_launched_as(const format::KernelRow& row, const KernelDetail& detail) noexcept {
  constexpr std::size_t bytes = offsetof(KernelDetail, shared_executed_bytes);
  static_assert(offsetof(format::KernelRow, graph_id) - offsetof(format::KernelRow, grid_x) == bytes,
                "from grid to launch_type both have the same words");
  return std::memcmp(&row.grid_x, &detail, bytes) == 0 && row.shared_executed_bytes == detail.shared_executed_bytes &&
         row.max_active_clusters == detail.max_active_clusters && detail.demangled == StringId::kEmpty &&
         detail.mangled == StringId::kEmpty && detail.base == StringId::kEmpty;
}
CopyDetail copy_detail(const format::MemcpyRow& row) noexcept;
CopyDetail copy_detail(const format::MemsetRow& row) noexcept;

}  // namespace rangefinder::importer
