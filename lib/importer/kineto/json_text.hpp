// SPDX-License-Identifier: MIT
#pragma once

#include "base/json_unescape.hpp"
#include "importer/kineto/scan.hpp"

#include <string>
#include <string_view>

namespace rangefinder::importer::kineto {

/// The text itself where nothing is escaped, else its meaning, in `scratch`.
inline std::string_view meaning(const RawText& text, std::string& scratch) {
  if (!text.escaped) return text.bytes;
  scratch.clear();
  base::append_json_unescaped(scratch, text.bytes);
  return scratch;
}

/// Control bytes or bytes that are not UTF-8: JSON allows neither, profilers write both.
bool is_unclean(std::string_view text) noexcept;

/// One JSON value as text: as it stands where it is JSON; a word that JSON does not know (NaN) becomes a string.
std::string metadata_value(std::string_view raw);

}  // namespace rangefinder::importer::kineto
