// SPDX-License-Identifier: MIT
#include "query/sqlite_value.hpp"

#include <cmath>
#include <limits>

namespace rangefinder::query {
namespace {

using Limits = std::numeric_limits<std::int64_t>;

Bound bound_of_real(double value, Side side) noexcept {
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  if (std::isnan(value)) return {Bound::Kind::kNoRow};
  if (side == Side::kEqual) {
    if (value != std::floor(value) || value < -kBeyond || value >= kBeyond) return {Bound::Kind::kNoRow};
    return {Bound::Kind::kAt, static_cast<std::int64_t>(value)};
  }
  // One more on either side: large doubles stand for many whole numbers.
  const double rounded = side == Side::kLower ? std::floor(value) : std::ceil(value);
  if (rounded < -kBeyond) return {Bound::Kind::kAt, Limits::min()};
  if (rounded >= kBeyond) return {Bound::Kind::kAt, Limits::max()};
  return {Bound::Kind::kAt, static_cast<std::int64_t>(rounded)};
}

}  // namespace

void set_result(sqlite3_context* context, const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::kNull:
      return sqlite3_result_null(context);
    case Cell::Kind::kInteger:
      return sqlite3_result_int64(context, cell.integer);
    case Cell::Kind::kReal:
      return sqlite3_result_double(context, cell.real);
    case Cell::Kind::kText:
      return sqlite3_result_text64(context, cell.text.data() != nullptr ? cell.text.data() : "", cell.text.size(),
                                   SQLITE_STATIC, SQLITE_UTF8);
    case Cell::Kind::kMadeText:
      return sqlite3_result_text64(context, cell.made.data(), cell.made.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
}

Bound bound_of(sqlite3_value* value, Side side) noexcept {
  switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER:
      return {Bound::Kind::kAt, sqlite3_value_int64(value)};
    case SQLITE_FLOAT:
      return bound_of_real(sqlite3_value_double(value), side);
    case SQLITE_NULL:
      return {Bound::Kind::kNoRow};
    default:  // texts and blobs are above all numbers, and equal to none
      return {side == Side::kUpper ? Bound::Kind::kEveryRow : Bound::Kind::kNoRow};
  }
}

std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    out += c;
    if (c == '"') out += c;
  }
  return out += '"';
}

char* freed_by_sqlite(std::string_view text) noexcept {
  return sqlite3_mprintf("%.*s", static_cast<int>(text.size()), text.data());
}

}  // namespace rangefinder::query
