// SPDX-License-Identifier: MIT
#pragma once

#include "projection/flat_map.hpp"

#include <cstdint>

namespace rangefinder::analysis {

/// Numbers for chains of numbers: equal chains have one number, and no others have it.
///
///   std::uint32_t chain = Chains::kEmpty;
///   for (const std::uint32_t part : parts) chain = chains.of(chain, part);
class Chains {
 public:
  static constexpr std::uint32_t kEmpty = 0;
  /// `chain` with `part` behind it.
  std::uint32_t of(std::uint32_t chain, std::uint32_t part) {
    const auto next = static_cast<std::uint32_t>(known_.size() + 1);
    return known_.find_or_set(std::uint64_t{chain} << 32 | part, next);
  }
  /// Numbers that are taken are below.
  std::uint32_t end() const noexcept { return static_cast<std::uint32_t>(known_.size() + 1); }

 private:
  projection::FlatMap known_;
};

}  // namespace rangefinder::analysis
