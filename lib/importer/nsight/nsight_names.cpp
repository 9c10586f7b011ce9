// SPDX-License-Identifier: MIT
#include "importer/nsight/nsight_names.hpp"

#include <iterator>

namespace rangefinder::importer::nsight {

std::string copy_operation(std::uint32_t copy_kind) {
  static constexpr const char* kKinds[] = {
      "Unknown",
      "Host-to-Device",
      "Device-to-Host",
      "Host-to-Array",
      "Array-to-Host",
      "Array-to-Array",
      "Array-to-Device",
      "Device-to-Array",
      "Device-to-Device",
      "Host-to-Host",
      "Peer-to-Peer",
      "Unified Host-to-Device",
      "Unified Device-to-Host",
      "Unified Device-to-Device",
  };
  const std::string kind = copy_kind < std::size(kKinds) ? kKinds[copy_kind] : "kind " + std::to_string(copy_kind);
  return "[CUDA memcpy " + kind + "]";
}

std::string_view memory_kind_name(std::uint32_t memory_kind) noexcept {
  static constexpr std::string_view kKinds[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                                "Array",   "Managed",  "Device Static", "Managed Static"};
  return memory_kind < std::size(kKinds) ? kKinds[memory_kind] : kKinds[0];
}

}  // namespace rangefinder::importer::nsight
