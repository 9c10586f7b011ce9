// SPDX-License-Identifier: MIT
#include "mcp/json.hpp"

#include <cstddef>

namespace rangefinder::mcp {
namespace {

constexpr int kMaxDepth = 64;

/// Checked before parsing: writing recurses, and a value takes many times the memory of its bracket.
bool is_too_deep(std::string_view text) noexcept {
  bool in_string = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> parse_message(std::string_view text) {
  if (is_too_deep(text))
    return Error(ErrorCode::kUnreadable, "JSON nested deeper than " + std::to_string(kMaxDepth) + " levels");
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return Error(ErrorCode::kUnreadable, "not JSON");
  return value;
}

std::string one_line(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

const Json& member(const Json& value, const char* key) {
  static const Json kNothing;
  if (!value.is_object()) return kNothing;
  const auto found = value.find(key);
  return found == value.end() ? kNothing : *found;
}

}  // namespace rangefinder::mcp
