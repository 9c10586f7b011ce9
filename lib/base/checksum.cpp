// SPDX-License-Identifier: MIT
#include "base/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rangefinder::base {

std::uint64_t checksum(ByteView bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace rangefinder::base
