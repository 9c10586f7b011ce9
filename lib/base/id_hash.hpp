// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace rangefinder::base {

/// Hashes ids that come from a file. The multiplier differs from run to run, so that an attacker cannot write a trace
/// whose ids all collide; nothing that is output depends on it.
class IdHash {
 public:
  std::size_t operator()(std::int64_t id) const noexcept { return mix(static_cast<std::uint64_t>(id)); }

  static std::uint64_t mix(std::uint64_t value) noexcept {
    value = (value ^ value >> 32) * secret();
    return value ^ value >> 32;
  }

 private:
  static std::uint64_t secret() noexcept {
    static const std::uint64_t value = [] {
      std::random_device device;
      return (std::uint64_t{device()} << 32 | device()) | 1;
    }();
    return value;
  }
};

}  // namespace rangefinder::base
