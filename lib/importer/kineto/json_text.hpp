// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/scan.hpp"

#include <string>
#include <string_view>

namespace rangefinder::importer::kineto {

/// What a string with backslashes means. Escapes that mean nothing keep their letter; half a surrogate pair becomes
/// U+FFFD.
void unescape(std::string_view raw, std::string& out);

/// The text itself where nothing is escaped, else its meaning, in `scratch`.
inline std::string_view meaning(const RawText& text, std::string& scratch) {
  if (!text.escaped) return text.bytes;
  scratch.clear();
  unescape(text.bytes, scratch);
  return scratch;
}

/// Control bytes or bytes that are not UTF-8: JSON allows neither, profilers write both.
bool is_unclean(std::string_view text) noexcept;

/// One JSON value as text: as it stands where it is JSON; a word that JSON does not know (NaN) becomes a string.
std::string metadata_value(std::string_view raw);

}  // namespace rangefinder::importer::kineto
