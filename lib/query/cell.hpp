// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/types.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rangefinder::query {

/// What a column has in a row.
struct Cell {
  enum class Kind : std::uint8_t {
    kNull,
    kInteger,
    kReal,
    kText,      ///< lives as long as the database
    kMadeText,  ///< `made`
  };

  Kind kind = Kind::kNull;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text = {};
  std::string made = {};
};

inline Cell null_cell() { return {}; }
template <typename Number>
Cell number(Number value) {
  if constexpr (std::is_floating_point_v<Number>)
    return {.kind = Cell::Kind::kReal, .real = value};
  else
    return {.kind = Cell::Kind::kInteger, .integer = static_cast<std::int64_t>(value)};
}
inline Cell text(std::string_view value) { return {.kind = Cell::Kind::kText, .text = value}; }
inline Cell made_text(std::string value) { return {.kind = Cell::Kind::kMadeText, .made = std::move(value)}; }

/// Of inputs that write -1, or kNoTime, for what they do not know.
inline Cell if_known(std::int64_t value) { return value < 0 ? null_cell() : number(value); }
inline Cell if_time(std::int64_t value) { return value == kNoTime ? null_cell() : number(value); }
/// Of those that write 0.
inline Cell if_not_zero(std::uint64_t value) { return value == 0 ? null_cell() : number(value); }
inline Cell if_text(std::string_view value) { return value.empty() ? null_cell() : text(value); }

/// The id of a row: its position counted from 1, as reports do it.
template <typename Of>
Cell id_of(Index<Of> row) {
  return row == Index<Of>(kNone) ? null_cell() : number(std::int64_t{std::uint32_t{row}} + 1);
}

}  // namespace rangefinder::query
