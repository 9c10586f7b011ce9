// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <algorithm>
#include <cstddef>

namespace rangefinder::base {

/// Whether all bytes are 0. Block by block, as compilers make fast code of it; a block that is not ends it.
inline bool only_zeros(ByteView bytes) noexcept {
  constexpr std::size_t kBlock = 4096;
  while (!bytes.empty()) {
    const ByteView block = bytes.first(std::min(bytes.size(), kBlock));
    std::byte any{0};
    for (const std::byte byte : block) any |= byte;
    if (any != std::byte{0}) return false;
    bytes = bytes.subspan(block.size());
  }
  return true;
}

}  // namespace rangefinder::base
