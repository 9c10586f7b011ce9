// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// Sums and distances of times and sizes that files claim: any number is possible, and these wrap around where plain
// arithmetic would be undefined.
namespace rangefinder::detail {

constexpr std::int64_t plus(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t minus(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

}  // namespace rangefinder::detail
