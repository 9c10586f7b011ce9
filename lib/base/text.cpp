// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rangefinder::base {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_bidi_control(char32_t c) noexcept {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

bool is_line_or_control(char32_t c) noexcept {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || c == 0xFEFF || is_bidi_control(c);
}

void append_hex_byte(std::string& out, unsigned char byte) {
  out += "\\x";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

void append_four_digits(std::string& out, char32_t c) {
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(c >> shift) & 15];
}

bool is_combining(char32_t c) noexcept {
  return (c >= 0x0300 && c <= 0x036F) || (c >= 0x200B && c <= 0x200D) || (c >= 0xFE00 && c <= 0xFE0F);
}

bool is_wide(char32_t c) noexcept {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

/// Whether all eight bytes are plain ASCII.
bool is_plain_word(const char* bytes) noexcept {
  constexpr std::uint64_t kEach = 0x0101010101010101u;
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  // The highest bit of a byte: one that has it itself, is below 0x20, or is 0x7F (which one more gives it).
  return ((word | (word - 0x20 * kEach) | (word + kEach)) & 0x80 * kEach) == 0;
}

// Bytes that stand for themselves inside a JSON string.
constexpr std::array<bool, 256> kPlainJson = [] {
  std::array<bool, 256> plain{};
  for (int c = 0x20; c < 0x7F; ++c) plain[static_cast<std::size_t>(c)] = c != '"' && c != '\\';
  return plain;
}();

}  // namespace

std::size_t plain_ascii(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at + 8 <= text.size() && is_plain_word(text.data() + at)) at += 8;
  while (at < text.size() && text[at] >= 0x20 && text[at] < 0x7F) ++at;
  return at;
}

std::size_t decode_utf8(std::string_view text, char32_t& code_point) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    code_point = lead;
    return 1;
  }
  const std::size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  char32_t c = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    c = c << 6 | (byte(i) & 0x3Fu);
  }
  const bool overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
  if (overlong || (c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF) return 0;
  code_point = c;
  return length;
}

void append_json_escaped(std::string& out, std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t plain = at;
    while (plain < text.size() && kPlainJson[static_cast<unsigned char>(text[plain])]) ++plain;
    out.append(text.substr(at, plain - at));
    at = plain;
    if (at == text.size()) return;
    char32_t c = 0;
    const std::size_t length = decode_utf8(text.substr(at), c);
    if (length == 0) {
      out += kReplacement;
      ++at;
      continue;
    }
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (is_line_or_control(c)) {
          out += "\\u";
          append_four_digits(out, c);
        } else {
          out.append(text.substr(at, length));
        }
    }
    at += length;
  }
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_json_escaped(out, text);
  out += '"';
}

void append_compact_json(std::string& out, std::string_view json) {
  const std::size_t before = out.size();
  out.resize(before + json.size());
  char* to = out.data() + before;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    *to = c;
    to += quoted || (c != ' ' && c != '\n' && c != '\t' && c != '\r') ? 1 : 0;
    if (c == '"') quoted = !quoted;
    if (c == '\\' && quoted && i + 1 < json.size()) *to++ = json[++i];
  }
  out.resize(static_cast<std::size_t>(to - out.data()));
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (;;) {
    const std::size_t plain = plain_ascii(text);
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return out;
    char32_t c = 0;
    const std::size_t length = decode_utf8(text, c);
    if (length == 0) {
      append_hex_byte(out, static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (c < 0x100 && is_line_or_control(c)) {
      append_hex_byte(out, static_cast<unsigned char>(c));
    } else if (is_line_or_control(c)) {
      out += "\\u{";
      append_four_digits(out, c);
      out += '}';
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
}

void append_csv_field(std::string& out, std::string_view text, bool defuse) {
  const bool formula = defuse && !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  const bool quoted = formula || text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (quoted) out += '"';
  if (formula) out += '\'';
  while (!text.empty()) {
    const auto is_plain = [](char c) { return kPlainJson[static_cast<unsigned char>(c)]; };
    const auto plain = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    char32_t c = 0;
    const std::size_t length = decode_utf8(text, c);
    if (text[0] == '"') out += '"';
    out += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  if (quoted) out += '"';
}

std::string with_doubled_percents(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '%' ? 2 : 1, c);
  return out;
}

std::size_t display_width(std::string_view text) noexcept {
  std::size_t width = 0;
  for (;;) {
    const std::size_t plain = plain_ascii(text);
    width += plain;
    text.remove_prefix(plain);
    if (text.empty()) return width;
    char32_t c = 0;
    const std::size_t length = decode_utf8(text, c);
    if (length == 0) {
      ++width;
      text.remove_prefix(1);
      continue;
    }
    width += is_combining(c) ? 0 : is_wide(c) ? 2 : 1;
    text.remove_prefix(length);
  }
}

std::size_t bytes_within(std::string_view text, std::size_t columns) noexcept {
  std::size_t at = 0;
  for (std::size_t taken = 0; at < text.size();) {
    char32_t c = 0;
    const std::size_t length = std::max<std::size_t>(1, decode_utf8(text.substr(at), c));
    taken += display_width(text.substr(at, length));
    if (taken > columns) break;
    at += length;
  }
  return at;
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::size_t best_distance = word.size() / 2 + 1;  // more edits than that is another word
  std::vector<std::size_t> row;
  for (const std::string_view candidate : candidates) {
    row.resize(candidate.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t replaced = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string with_thousands(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

}  // namespace rangefinder::base
