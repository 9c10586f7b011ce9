// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <cstdint>

namespace rangefinder::base {

/// XXH3, 64 bits, seed 0. Finds damage, not malice.
std::uint64_t checksum(ByteView bytes) noexcept;

}  // namespace rangefinder::base
