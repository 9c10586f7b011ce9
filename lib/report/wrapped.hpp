// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rangefinder::report {

/// `text` in lines of at most `width` columns (0: no limit), broken between words; lines after the first begin with
/// `indent` spaces where the width has room for them. A word that is longer than a line is broken. No line feed at the
/// end. Printable text only.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace rangefinder::report
