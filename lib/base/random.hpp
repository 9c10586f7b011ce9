// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace rangefinder::base {

/// SplitMix64: small, and the same on every standard library, which std::uniform_int_distribution is not. For drawing
/// samples; not for secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t bits() noexcept {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// From 0 to bound - 1. The bound is not 0.
  std::size_t below(std::size_t bound) noexcept {
    return static_cast<std::size_t>(static_cast<unsigned __int128>(bits()) * bound >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace rangefinder::base
