// SPDX-License-Identifier: MIT
#include "timeline/nsight_names.hpp"

#include <iterator>

namespace rangefinder::timeline::nsight {

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

}  // namespace rangefinder::timeline::nsight
