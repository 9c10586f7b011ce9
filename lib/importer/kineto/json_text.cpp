// SPDX-License-Identifier: MIT
#include "importer/kineto/json_text.hpp"

#include "base/text.hpp"

namespace rangefinder::importer::kineto {
bool is_unclean(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first < 0x20) return true;
    char32_t ignored = 0;
    const std::size_t length = first < 0x80 ? 1 : base::decode_utf8(text, ignored);
    if (length == 0) return true;
    text.remove_prefix(length);
  }
  return false;
}

std::string metadata_value(std::string_view raw) {
  const char first = raw.empty() ? 'N' : raw.front();
  const bool composite = first == '{' || first == '[' || first == '"';
  const bool word = raw == "true" || raw == "false" || raw == "null";
  const bool infinite = raw.size() > 1 && first == '-' && !is_digit(raw[1]);
  if (composite || word || ((is_digit(first) || first == '-') && !infinite)) return std::string(raw);
  std::string out;
  base::append_json_string(out, raw);
  return out;
}

}  // namespace rangefinder::importer::kineto
