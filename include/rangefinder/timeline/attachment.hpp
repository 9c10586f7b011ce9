// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rangefinder {

/// Values attached to ranges and marks.
struct Attachment {
  enum class Target : std::uint8_t { kRange, kMark } target = Target::kRange;
  enum class Type : std::uint8_t { kUnsigned, kSigned, kDouble, kText } type = Type::kUnsigned;
  std::uint32_t row = 0;
  std::uint64_t bits = 0;  ///< the value's bits; StringId for kText
};

}  // namespace rangefinder
