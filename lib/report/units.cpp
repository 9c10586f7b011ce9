// SPDX-License-Identifier: MIT
#include "report/units.hpp"

#include "report/table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rangefinder::report {
namespace {

constexpr int kSignificant = 4;

// All that 64 bits hold: a count of nanoseconds or bytes is below the last one.
constexpr std::array<std::uint64_t, 20> kPowersOfTen = [] {
  std::array<std::uint64_t, 20> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

std::uint64_t power_of_ten(int exponent) noexcept { return kPowersOfTen[static_cast<std::size_t>(exponent)]; }

int digits_of(std::uint64_t value) noexcept {
  const int least = static_cast<int>(std::bit_width(value)) * 1233 >> 12;  // times the logarithm of 2
  return least + (value >= power_of_ten(least) ? 1 : 0);
}

// value / 10^places of the first unit; each further unit is a thousand of the one before.
std::string readable(std::int64_t value, int places, std::span<const std::string_view> units) {
  const std::uint64_t magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const int before_point = std::max(digits_of(magnitude) - places, 1);
  std::size_t unit = std::min(static_cast<std::size_t>(before_point - 1) / 3, units.size() - 1);
  int digits = before_point - 3 * static_cast<int>(unit);
  for (;;) {
    const int shift = places + 3 * static_cast<int>(unit);
    const int decimals = std::min(std::max(kSignificant - digits, 0), shift);
    const std::uint64_t divisor = power_of_ten(shift - decimals);
    const std::uint64_t rounded = (magnitude + divisor / 2) / divisor;
    // Rounding up may add a digit: 9.9996 us is 10.00 us, 999.96 us is 1.000 ms.
    if (rounded >= power_of_ten(digits + decimals)) {
      if (digits == 3 && unit + 1 < units.size()) {
        ++unit;
        digits = 1;
      } else {
        ++digits;
      }
      continue;
    }
    char text[kMaxDigits + 8];
    char* const name = std::end(text) - units[unit].size();
    units[unit].copy(name, units[unit].size());
    name[-1] = ' ';
    const auto shown = static_cast<std::int64_t>(rounded);
    return {write_plain_number(name - 1, value < 0 ? -shown : shown, decimals), std::end(text)};
  }
}

}  // namespace

std::string readable_time(std::int64_t value, int places) {
  static constexpr std::string_view kUnits[] = {"ns", "us", "ms", "s"};
  return readable(value, places, kUnits);
}

std::string readable_bytes(std::int64_t value) {
  static constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  return readable(value, 0, kUnits);
}

std::string readable_flops(std::int64_t value) {
  static constexpr std::string_view kUnits[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
  return readable(value, 0, kUnits);
}

std::string readable_real(double value) {
  constexpr double kWhole = 1e9;  // shown with all digits
  char text[32];
  const bool whole = std::trunc(value) == value && std::abs(value) < kWhole;
  const auto end =
      whole ? std::to_chars(std::begin(text), std::end(text), value, std::chars_format::fixed).ptr
            : std::to_chars(std::begin(text), std::end(text), value, std::chars_format::general, kSignificant).ptr;
  return std::string(text, end);
}

std::string readable_timestamp(std::int64_t nanoseconds) { return plain_number(nanoseconds, 9); }

}  // namespace rangefinder::report
