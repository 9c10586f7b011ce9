// SPDX-License-Identifier: MIT
#pragma once

#include "query/cell.hpp"

#include <sqlite3.h>

#include <cstdint>
#include <new>
#include <string>
#include <string_view>

// Between SQLite's values and ours.
namespace rangefinder::query {

/// Gives SQLite the value of a column.
void set_result(sqlite3_context* context, const Cell& cell);

/// What a value bounds among whole numbers. SQLite compares each row once more, so that a bound may let too many in.
struct Bound {
  enum class Kind : std::uint8_t { kNoRow, kEveryRow, kAt };
  Kind kind;
  std::int64_t at = 0;
};
enum class Side : std::uint8_t { kEqual, kLower, kUpper };
Bound bound_of(sqlite3_value* value, Side side) noexcept;

/// Quoted as an identifier.
std::string quoted_name(std::string_view name);

/// A text that SQLite frees.
char* freed_by_sqlite(std::string_view text) noexcept;

/// Runs a callback of SQLite, which is C and lets no exception through.
template <typename Work>
int without_exceptions(const Work& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (...) {
    return SQLITE_ERROR;
  }
}

}  // namespace rangefinder::query
