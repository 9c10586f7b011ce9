// SPDX-License-Identifier: MIT
#include "query/trim.hpp"

#include "query/sqlite_value.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::query {
namespace {

constexpr std::uintptr_t kLeft = 1;
constexpr std::uintptr_t kRight = 2;

bool continues(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The first character of a text, or its last. Bytes that are no UTF-8 count as characters of some length.
std::string_view first_character(std::string_view text) noexcept {
  std::size_t size = 1;
  while (size < text.size() && continues(text[size])) ++size;
  return text.substr(0, size);
}
std::string_view last_character(std::string_view text) noexcept {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && continues(text[begin])) --begin;
  return text.substr(begin);
}

std::string_view text_of(sqlite3_value* value) noexcept {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

void trim(sqlite3_context* context, int, sqlite3_value** values) noexcept {
  if (sqlite3_value_type(values[0]) == SQLITE_NULL || sqlite3_value_type(values[1]) == SQLITE_NULL) return;
  const auto sides = reinterpret_cast<std::uintptr_t>(sqlite3_user_data(context));
  std::string_view text = text_of(values[0]);
  const int code = without_exceptions([&] {
    std::vector<std::string_view> set;
    for (std::string_view rest = text_of(values[1]); !rest.empty(); rest.remove_prefix(set.back().size()))
      set.push_back(first_character(rest));
    std::sort(set.begin(), set.end());
    const auto is_in_set = [&](std::string_view character) {
      return std::binary_search(set.begin(), set.end(), character);
    };
    while ((sides & kLeft) != 0 && !text.empty() && is_in_set(first_character(text)))
      text.remove_prefix(first_character(text).size());
    while ((sides & kRight) != 0 && !text.empty() && is_in_set(last_character(text)))
      text.remove_suffix(last_character(text).size());
    return SQLITE_OK;
  });
  if (code != SQLITE_OK) return sqlite3_result_error_code(context, code);
  sqlite3_result_text64(context, text.data() != nullptr ? text.data() : "", text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

}  // namespace

int replace_trim_functions(sqlite3* connection) noexcept {
  for (const auto& [name, sides] : {std::pair{"ltrim", kLeft}, {"rtrim", kRight}, {"trim", kLeft | kRight}}) {
    const int code =
        sqlite3_create_function_v2(connection, name, 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                   reinterpret_cast<void*>(sides), trim, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

}  // namespace rangefinder::query
