// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Nsight's words for CUPTI's numbers: the importer of its exports and the compatible views use them.
namespace rangefinder::timeline::nsight {

/// "[CUDA memcpy Host-to-Device]" for CUpti_ActivityMemcpyKind 1.
std::string copy_operation(std::uint32_t copy_kind);
inline constexpr std::string_view kMemsetOperation = "[CUDA memset]";

}  // namespace rangefinder::timeline::nsight
