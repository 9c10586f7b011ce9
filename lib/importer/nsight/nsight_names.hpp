// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Nsight's words for CUPTI's numbers: the importer gives them to copies, the compatible views print them.
namespace rangefinder::importer::nsight {

/// "[CUDA memcpy Host-to-Device]" for CUpti_ActivityMemcpyKind 1.
std::string copy_operation(std::uint32_t copy_kind);
inline constexpr std::string_view kMemsetOperation = "[CUDA memset]";

/// "Pinned" for CUpti_ActivityMemoryKind 2.
std::string_view memory_kind_name(std::uint32_t memory_kind) noexcept;

}  // namespace rangefinder::importer::nsight
