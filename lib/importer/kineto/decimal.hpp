// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/scan.hpp"

#include <cstdint>
#include <cstring>

// Quick readers of the decimals that most events have; base::scaled_decimal() reads the others.
namespace rangefinder::importer::kineto {

/// How many of eight bytes, as loaded from memory, are digits before the first that is none.
inline unsigned count_digits(std::uint64_t bytes) noexcept {
  const std::uint64_t values = bytes ^ 0x3030303030303030u;
  // The highest bit of a byte is set where its value is past 9. What a sum carries into the next byte comes from a byte
  // that is past 9 itself, so it cannot matter.
  const std::uint64_t others = ((values + 0x7676767676767676u) | values) & 0x8080808080808080u;
  return others == 0 ? 8 : static_cast<unsigned>(__builtin_ctzll(others)) / 8;
}

/// The number that the first `count` of eight digits make, 1 to 8, as loaded from memory.
inline std::uint32_t digits_value(std::uint64_t bytes, unsigned count) noexcept {
  bytes = (bytes << (64 - 8 * count) & 0x0F0F0F0F0F0F0F0Fu) * 2561 >> 8;
  bytes = (bytes & 0x00FF00FF00FF00FFu) * 6553601 >> 16;
  return static_cast<std::uint32_t>((bytes & 0x0000FFFF0000FFFFu) * 42949672960001u >> 32);
}

inline constexpr std::uint32_t kPowersOfTen[] = {1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};

/// Reads digits at `at` into `value`; at most 16 of them are looked at.
inline const char* read_digits(const char* at, std::uint64_t& value) noexcept {
  std::uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  unsigned count = count_digits(bytes);
  if (count == 0) return at;
  value = digits_value(bytes, count);
  at += count;
  if (count < 8) return at;
  std::memcpy(&bytes, at, sizeof bytes);
  count = count_digits(bytes);
  if (count != 0) value = value * kPowersOfTen[count] + digits_value(bytes, count);
  return at + count;
}

/// Microseconds as Kineto writes them (digits, then a point and up to three more) to nanoseconds. Null: not of that
/// form, ask base::scaled_decimal().
inline const char* read_plain_micros(const char* at, std::int64_t& nanos) noexcept {
  const bool negative = *at == '-';
  at += negative ? 1 : 0;
  std::uint64_t value = 0;
  const char* const begin = at;
  at = read_digits(at, value);
  // Sixteen digits may be the beginning of more, or too many for 64 bits of nanoseconds.
  if (at == begin || is_digit(*at) || value > 9'000'000'000'000'000u) return nullptr;
  value *= 1000;
  if (*at == '.') {
    std::uint64_t fraction = 0;
    const char* const point = at++;
    at = read_digits(at, fraction);
    const auto digits = static_cast<std::size_t>(at - point) - 1;
    if (digits > 3) return nullptr;
    value += fraction * kPowersOfTen[3 - digits];
  }
  if (is_word_byte(*at)) return nullptr;
  nanos = negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  return at;
}

/// A plain integer of up to 16 digits. Null: not of that form.
inline const char* read_plain_integer(const char* at, std::int64_t& out) noexcept {
  const bool negative = *at == '-';
  at += negative ? 1 : 0;
  std::uint64_t value = 0;
  const char* const begin = at;
  at = read_digits(at, value);
  if (at == begin || is_word_byte(*at)) return nullptr;
  out = negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  return at;
}

}  // namespace rangefinder::importer::kineto
