// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

// Decimal text to integers without a double in between: the times of a long trace do not fit in one.
namespace rangefinder::base {

struct ScaledDecimal {
  std::int64_t value = 0;
  bool valid = false;
  bool rounded = false;  ///< digits beyond the unit were there; half to even
};

/// text x 10^scale. Not valid: anything but an optional sign, digits, a point, an exponent; or out of 64 bits.
ScaledDecimal scaled_decimal(std::string_view text, int scale) noexcept;

}  // namespace rangefinder::base
