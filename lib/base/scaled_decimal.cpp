// SPDX-License-Identifier: MIT
#include "base/scaled_decimal.hpp"

#include <algorithm>
#include <limits>

namespace rangefinder::base {
namespace {

// __int128 is an extension that -Wpedantic would name at every use.
__extension__ typedef unsigned __int128 Wide;

constexpr bool is_decimal(char c) noexcept { return c >= '0' && c <= '9'; }

constexpr int kDigitsKept = 36;          // 10^36 times ten still fits in 128 bits
constexpr int kMaxPower = 38;            // 10^38 fits, 10^39 does not
constexpr int kExponentLimit = 100'000;  // beyond any use; keeps sums of exponents in an int

struct Digits {
  Wide value = 0;
  int exponent = 0;      ///< of ten
  bool dropped = false;  ///< a digit other than zero fell off the end
  bool any = false;
};

Wide power_of_ten(int power) noexcept {
  Wide out = 1;
  while (power-- > 0) out *= 10;
  return out;
}

/// Digits, a point, digits; `text` loses what was read.
Digits read_mantissa(std::string_view& text) noexcept {
  Digits out;
  bool fraction = false;
  int kept = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!is_decimal(c)) break;
    out.any = true;
    if (kept < kDigitsKept) {
      out.value = out.value * 10 + static_cast<unsigned>(c - '0');
      kept += out.value != 0 ? 1 : 0;
      out.exponent -= fraction ? 1 : 0;
    } else {
      out.dropped |= c != '0';
      out.exponent += fraction ? 0 : 1;
    }
    out.exponent = std::clamp(out.exponent, -kExponentLimit, kExponentLimit);
  }
  return out;
}

/// The rest of the text: nothing, or an exponent.
bool read_exponent(std::string_view text, int& exponent) noexcept {
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text.remove_prefix(1);
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
  if (text.empty()) return false;
  int value = 0;
  for (const char c : text) {
    if (!is_decimal(c)) return false;
    value = std::min(value * 10 + (c - '0'), kExponentLimit);
  }
  exponent += negative ? -value : value;
  return true;
}

}  // namespace

ScaledDecimal scaled_decimal(std::string_view text, int scale) noexcept {
  ScaledDecimal out;
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
  Digits digits = read_mantissa(text);
  if (!digits.any || !read_exponent(text, digits.exponent)) return out;
  out.valid = true;
  if (digits.value == 0) return out;

  constexpr Wide kMax = static_cast<Wide>(std::numeric_limits<std::int64_t>::max());
  Wide value = digits.value;
  const int power = digits.exponent + scale;
  if (power >= 0) {
    out.rounded = digits.dropped;
    if (power > kMaxPower || value > kMax / power_of_ten(power)) return {};
    value *= power_of_ten(power);
  } else if (-power > kMaxPower) {
    value = 0;  // at most 10^36, so less than half a unit
    out.rounded = true;
  } else {
    const Wide unit = power_of_ten(-power);
    const Wide rest = value % unit;
    value /= unit;
    out.rounded = rest != 0 || digits.dropped;
    const bool above_half = rest > unit / 2 || (rest == unit / 2 && digits.dropped);
    if (above_half || (rest == unit / 2 && (value & 1) != 0)) ++value;
  }
  if (value > kMax) return {};
  out.value = negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  return out;
}

}  // namespace rangefinder::base
