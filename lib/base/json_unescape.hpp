// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rangefinder::base {

/// Appends the meaning of `raw`, the inside of a JSON string. Escapes that mean nothing keep their letter; half a
/// surrogate pair becomes U+FFFD.
void append_json_unescaped(std::string& out, std::string_view raw);

}  // namespace rangefinder::base
