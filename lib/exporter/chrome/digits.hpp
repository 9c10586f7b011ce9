// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

// Numbers to text without locale, allocation or floating point.
namespace rangefinder::chrome {

inline constexpr std::size_t kMaxDecimalBytes = 20;
inline constexpr std::size_t kMaxMicrosBytes = kMaxDecimalBytes + 4;
inline constexpr std::size_t kMaxMillionthsBytes = 40;

namespace digits {

inline constexpr std::array<char, 200> kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

inline char* put_pair(char* out, std::uint32_t below_100) noexcept {
  std::memcpy(out, &kDigitPairs[std::size_t{2} * below_100], 2);
  return out + 2;
}

inline char* put_four(char* out, std::uint32_t below_10000) noexcept {
  return put_pair(put_pair(out, below_10000 / 100), below_10000 % 100);
}

inline char* put_eight(char* out, std::uint32_t below_1e8) noexcept {
  return put_four(put_four(out, below_1e8 / 10000), below_1e8 % 10000);
}

/// Without leading zeros.
inline char* put_short(char* out, std::uint32_t below_10000) noexcept {
  if (below_10000 >= 1000) return put_four(out, below_10000);
  if (below_10000 >= 100) {
    *out = static_cast<char>('0' + below_10000 / 100);
    return put_pair(out + 1, below_10000 % 100);
  }
  if (below_10000 >= 10) return put_pair(out, below_10000);
  *out = static_cast<char>('0' + below_10000);
  return out + 1;
}

}  // namespace digits

/// Writes at most kMaxDecimalBytes; returns the end.
inline char* put_decimal(char* out, std::uint64_t value) noexcept {
  constexpr std::uint64_t k1e8 = 100'000'000;
  if (value < 10000) return digits::put_short(out, static_cast<std::uint32_t>(value));
  if (value >= k1e8) return digits::put_eight(put_decimal(out, value / k1e8), static_cast<std::uint32_t>(value % k1e8));
  const auto small = static_cast<std::uint32_t>(value);
  return digits::put_four(digits::put_short(out, small / 10000), small % 10000);
}

inline char* put_signed(char* out, std::int64_t value) noexcept {
  if (value >= 0) return put_decimal(out, static_cast<std::uint64_t>(value));
  *out = '-';
  return put_decimal(out + 1, ~static_cast<std::uint64_t>(value) + 1);
}

/// Nanoseconds as microseconds with three decimals: 1234 becomes "1.234".
inline char* put_micros(char* out, std::uint64_t ns) noexcept {
  out = put_decimal(out, ns / 1000);
  const auto rest = static_cast<std::uint32_t>(ns % 1000);
  *out = '.';
  out[1] = static_cast<char>('0' + rest / 100);
  return digits::put_pair(out + 2, rest % 100);
}

/// Millionths as a decimal number without trailing zeros: 1500000 becomes "1.5".
inline char* put_millionths(char* out, unsigned __int128 value) noexcept {
  constexpr std::uint64_t kUnit = 1'000'000;
  constexpr std::uint64_t k1e18 = 1'000'000'000'000'000'000;
  const unsigned __int128 whole = value / kUnit;
  auto rest = static_cast<std::uint32_t>(value % kUnit);
  if (whole >= k1e18) {
    out = put_decimal(out, static_cast<std::uint64_t>(whole / k1e18));
    const auto low = static_cast<std::uint64_t>(whole % k1e18);
    out = digits::put_pair(out, static_cast<std::uint32_t>(low / 10'000'000'000'000'000u));
    out = digits::put_eight(out, static_cast<std::uint32_t>(low / 100'000'000u % 100'000'000u));
    out = digits::put_eight(out, static_cast<std::uint32_t>(low % 100'000'000u));
  } else {
    out = put_decimal(out, static_cast<std::uint64_t>(whole));
  }
  if (rest == 0) return out;
  *out++ = '.';
  for (std::uint32_t unit = 100'000; rest != 0; unit /= 10) {
    *out++ = static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
  return out;
}

/// numerator / denominator in millionths, rounded half up; `denominator` is not 0.
constexpr unsigned __int128 millionths(unsigned __int128 numerator, std::uint64_t denominator) noexcept {
  return (numerator * 1'000'000 + denominator / 2) / denominator;
}

}  // namespace rangefinder::chrome
