// SPDX-License-Identifier: MIT
#pragma once

#include "format/rows.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string_view>

// Device rows of a capture, in the words of a timeline.
namespace rangefinder::importer {

/// CUPTI's "no stream" in synchronisation records.
inline constexpr std::uint32_t kNoStream = 0xFFFFFFFFu;

/// All but the process.
void describe_device(const format::DeviceRow& row, std::string_view name, DeviceInfo& device);
KernelDetail kernel_detail(const format::KernelRow& row) noexcept;
CopyDetail copy_detail(const format::MemcpyRow& row) noexcept;
CopyDetail copy_detail(const format::MemsetRow& row) noexcept;

}  // namespace rangefinder::importer
