// SPDX-License-Identifier: MIT
#include "exporter/chrome/clean_json.hpp"

#include "base/json_unescape.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace rangefinder::chrome {
namespace {

constexpr unsigned kMaxDepth = 128;

bool is_space(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool ends_token(char c) noexcept {
  return is_space(c) || c == ',' || c == ':' || c == '"' || c == '[' || c == ']' || c == '{' || c == '}';
}

std::size_t skip_digits(std::string_view text, std::size_t at) noexcept {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

/// The grammar of RFC 8259: no leading zeros, no leading plus, no bare point.
bool is_number(std::string_view text) noexcept {
  std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::size_t whole = skip_digits(text, at);
  if (whole == at || (text[at] == '0' && whole != at + 1)) return false;
  at = whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t end = skip_digits(text, at + 1);
    if (end == at + 1) return false;
    at = end;
  }
  if (at < text.size() && (text[at] | 0x20) == 'e') {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t end = skip_digits(text, at);
    if (end == at) return false;
    at = end;
  }
  return at == text.size();
}

bool is_not_finite(std::string_view word) noexcept {
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  std::string lower(word);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  return lower == "nan" || lower == "inf" || lower == "infinity";
}

void append_word(std::string& out, std::string_view word) {
  if (is_number(word) || word == "true" || word == "false" || word == "null") {
    out.append(word);
  } else if (is_not_finite(word)) {
    out.append("null");
  } else {
    append_quoted(out, word);
  }
}

/// Walks text that may be anything; never reads past its end.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : text_(text) {}

  bool at_end() noexcept {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ == text_.size();
  }
  /// Behind white space; 0 at the end.
  char peek() noexcept { return at_end() ? '\0' : text_[at_]; }
  bool take(char c) noexcept {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  /// Without its quotes, escapes as they stand.
  bool string(std::string_view& raw) noexcept {
    if (!take('"')) return false;
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) {
      at_ = text_.size();
      return false;
    }
    raw = text_.substr(begin, at_ - begin);
    ++at_;
    return true;
  }
  bool word(std::string_view& token) noexcept {
    at_end();
    const std::size_t begin = at_;
    while (at_ < text_.size() && !ends_token(text_[at_])) ++at_;
    token = text_.substr(begin, at_ - begin);
    return !token.empty();
  }
  /// Any value, only its brackets and quotes looked at.
  bool skip(std::string_view& raw) noexcept {
    at_end();
    const std::size_t begin = at_;
    std::size_t depth = 0;
    std::string_view ignored;
    do {
      const char c = peek();
      if (c == '"') {
        if (!string(ignored)) return false;
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (depth != 0 && (c == '}' || c == ']')) {
        --depth;
        ++at_;
      } else if (depth != 0 && (c == ',' || c == ':')) {
        ++at_;
      } else if (!word(ignored)) {
        return false;
      }
    } while (depth != 0);
    raw = text_.substr(begin, at_ - begin);
    return true;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::string unescaped(std::string_view raw) {
  std::string text;
  base::append_json_unescaped(text, raw);
  return text;
}

/// As it is written, escapes and all; most strings hold nothing that must change.
void append_raw_string(std::string& out, std::string_view raw) {
  const bool plain =
      std::all_of(raw.begin(), raw.end(), [](char c) { return c >= 0x20 && c != '\\' && c != '<' && c < 0x7F; });
  if (!plain) return append_quoted(out, unescaped(raw));
  out += '"';
  out.append(raw);
  out += '"';
}

bool append_value(std::string& out, Scanner& in, unsigned depth);

/// Up to the closing bracket, or to the end of the text when `close` is 0.
bool append_list(std::string& out, Scanner& in, bool keyed, char close, unsigned depth) {
  const auto closed = [&] { return close == '\0' ? in.at_end() : in.take(close); };
  if (closed()) return true;
  for (bool first = true;; first = false) {
    if (!first) out += ',';
    if (keyed) {
      std::string_view key;
      if (!in.string(key)) return false;
      append_raw_string(out, key);
      if (!in.take(':')) return false;
      out += ':';
    }
    if (!append_value(out, in, depth)) return false;
    if (closed()) return true;
    if (!in.take(',')) return false;
    if (closed()) return true;  // a comma too many
  }
}

bool append_value(std::string& out, Scanner& in, unsigned depth) {
  if (depth > kMaxDepth) return false;
  const char first = in.peek();
  if (first == '"') {
    std::string_view raw;
    if (!in.string(raw)) return false;
    append_raw_string(out, raw);
    return true;
  }
  if (first == '{' || first == '[') {
    const char close = first == '{' ? '}' : ']';
    in.take(first);
    out += first;
    if (!append_list(out, in, first == '{', close, depth + 1)) return false;
    out += close;
    return true;
  }
  std::string_view token;
  if (!in.word(token)) return false;
  append_word(out, token);
  return true;
}

}  // namespace

bool append_clean_value(std::string& out, std::string_view raw) {
  const std::size_t before = out.size();
  Scanner in(raw);
  if (append_value(out, in, 0) && in.at_end()) return true;
  out.resize(before);
  return false;
}

bool append_clean_members(std::string& out, std::string_view members) {
  const std::size_t before = out.size();
  Scanner in(members);
  if (append_list(out, in, true, '\0', 1)) return true;
  out.resize(before);
  return false;
}

bool split_object(std::string_view object, std::vector<RawMember>& members) {
  members.clear();
  Scanner in(object);
  if (!in.take('{')) return false;
  if (in.take('}')) return in.at_end();
  for (;;) {
    std::string_view key, value;
    if (!in.string(key) || !in.take(':') || !in.skip(value)) return false;
    members.push_back({unescaped(key), value});
    if (in.take(',') && in.peek() != '}') continue;
    return in.take('}') && in.at_end();
  }
}

std::string text_of(std::string_view raw) {
  Scanner in(raw);
  std::string_view content;
  return in.string(content) ? unescaped(content) : std::string(raw);
}

void append_quoted(std::string& out, std::string_view text) {
  if (text.find("</") == std::string_view::npos) return base::append_json_string(out, text);
  out += '"';
  for (;;) {
    const std::size_t at = text.find("</");
    if (at == std::string_view::npos) break;
    base::append_json_escaped(out, text.substr(0, at + 1));
    out += "\\/";
    text.remove_prefix(at + 2);
  }
  base::append_json_escaped(out, text);
  out += '"';
}

}  // namespace rangefinder::chrome
