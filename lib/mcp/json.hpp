// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#define JSON_USE_IMPLICIT_CONVERSIONS 0
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace rangefinder::mcp {

/// Keys keep their order; integers are exact.
using Json = nlohmann::ordered_json;

/// kUnreadable for what is no JSON, or nests deeper than 64 levels.
Result<Json> parse_message(std::string_view text);

/// One line, without a line end. Bytes that are not UTF-8 become U+FFFD.
std::string one_line(const Json& value);

/// The member of an object; null where there is none, or `value` is no object.
const Json& member(const Json& value, const char* key);

}  // namespace rangefinder::mcp
