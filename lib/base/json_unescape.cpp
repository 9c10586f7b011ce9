// SPDX-License-Identifier: MIT
#include "base/json_unescape.hpp"

#include <algorithm>
#include <optional>

namespace rangefinder::base {
namespace {

constexpr bool is_decimal_digit(char c) noexcept { return c >= '0' && c <= '9'; }

constexpr char32_t kReplacementCharacter = 0xFFFD;

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  }
}

std::optional<char32_t> four_hex(std::string_view text) noexcept {
  if (text.size() < 4) return std::nullopt;
  char32_t out = 0;
  for (const char c : text.substr(0, 4)) {
    const char lower = static_cast<char>(c | 0x20);
    if (is_decimal_digit(c)) {
      out = out << 4 | static_cast<char32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      out = out << 4 | static_cast<char32_t>(lower - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

/// `raw` stands behind `\u`; returns how many bytes of it were used.
std::size_t append_unicode_escape(std::string_view raw, std::string& out) {
  const std::optional<char32_t> first = four_hex(raw);
  if (!first) {
    out += 'u';
    return 0;
  }
  if (*first < 0xD800 || *first > 0xDFFF) {
    append_utf8(out, *first);
    return 4;
  }
  const bool pair_follows = raw.size() >= 10 && raw[4] == '\\' && raw[5] == 'u';
  const std::optional<char32_t> second = pair_follows ? four_hex(raw.substr(6)) : std::nullopt;
  if (*first < 0xDC00 && second && *second >= 0xDC00 && *second <= 0xDFFF) {
    append_utf8(out, 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00));
    return 10;
  }
  append_utf8(out, kReplacementCharacter);
  return 4;
}

}  // namespace

void append_json_unescaped(std::string& out, std::string_view raw) {
  while (!raw.empty()) {
    const std::size_t plain = std::min(raw.find('\\'), raw.size());
    out.append(raw.substr(0, plain));
    raw.remove_prefix(plain);
    if (raw.size() < 2) return;  // a lone backslash cannot end a string that was scanned
    const char kind = raw[1];
    raw.remove_prefix(2);
    switch (kind) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u':
        raw.remove_prefix(append_unicode_escape(raw, out));
        break;
      default:
        out += kind;
    }
  }
}

}  // namespace rangefinder::base
