// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rangefinder::base {

/// The text as the content of an element or of a quoted attribute of HTML or XML. Control characters, most of which XML
/// has no way to write, are shown as `printable` shows them.
std::string markup_escaped(std::string_view text);

}  // namespace rangefinder::base
