// SPDX-License-Identifier: MIT
#pragma once

#include <zlib.h>

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::testing {

/// A JSON document that a test wants to look into: answers beside recorded traces, our own output. For trusted input.
class JsonValue {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  static JsonValue parse(std::string_view text) {
    std::size_t cursor = 0;
    JsonValue value = read(text, cursor);
    skip_space(text, cursor);
    if (cursor != text.size()) fail("something after the end", cursor);
    return value;
  }
  /// A file, plain or gzip.
  static JsonValue load(const std::string& path) {
    gzFile file = gzopen(path.c_str(), "rb");
    if (file == nullptr) throw std::runtime_error(path + ": cannot be opened");
    std::string text;
    char buffer[1 << 16];
    int got = 0;
    while ((got = gzread(file, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(got));
    gzclose(file);
    if (got < 0) throw std::runtime_error(path + ": cannot be unpacked");
    return parse(text);
  }

  Kind kind() const noexcept { return kind_; }
  bool boolean() const { return need(Kind::kBool).text_ == "true"; }
  /// Exact; throws for a number with a fraction.
  std::int64_t integer() const {
    const std::string& text = need(Kind::kNumber).text_;
    if (text.find_first_of(".eE") != std::string::npos) throw std::runtime_error("json: " + text + " is no integer");
    return std::strtoll(text.c_str(), nullptr, 10);
  }
  double number() const { return std::strtod(need(Kind::kNumber).text_.c_str(), nullptr); }
  /// A string's characters, or a number as it was written.
  const std::string& text() const { return text_; }
  const std::vector<JsonValue>& items() const { return need(Kind::kArray).items_; }
  const std::map<std::string, JsonValue>& members() const { return need(Kind::kObject).members_; }
  bool has(const std::string& key) const { return kind_ == Kind::kObject && members_.count(key) != 0; }
  const JsonValue& operator[](const std::string& key) const {
    const auto found = members().find(key);
    if (found == members().end()) throw std::runtime_error("json: no member " + key);
    return found->second;
  }
  const JsonValue& operator[](std::size_t index) const { return items().at(index); }
  std::size_t size() const noexcept { return kind_ == Kind::kObject ? members_.size() : items_.size(); }

 private:
  [[noreturn]] static void fail(const char* what, std::size_t cursor) {
    throw std::runtime_error("json: " + std::string(what) + " at byte " + std::to_string(cursor));
  }
  const JsonValue& need(Kind kind) const {
    if (kind_ != kind) throw std::runtime_error("json: a value of another kind than expected");
    return *this;
  }
  static void skip_space(std::string_view text, std::size_t& cursor) {
    while (cursor < text.size() &&
           (text[cursor] == ' ' || text[cursor] == '\n' || text[cursor] == '\t' || text[cursor] == '\r'))
      ++cursor;
  }
  static bool take(std::string_view text, std::size_t& cursor, char wanted) {
    skip_space(text, cursor);
    if (cursor >= text.size() || text[cursor] != wanted) return false;
    ++cursor;
    return true;
  }

  static JsonValue read(std::string_view text, std::size_t& cursor) {
    skip_space(text, cursor);
    if (cursor >= text.size()) fail("the end", cursor);
    JsonValue value;
    if (text[cursor] == '{') return read_object(text, cursor);
    if (text[cursor] == '[') return read_array(text, cursor);
    if (text[cursor] == '"') {
      value.kind_ = Kind::kString;
      value.text_ = read_string(text, cursor);
      return value;
    }
    const std::size_t begin = cursor;
    while (cursor < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[cursor])) || std::strchr("+-.", text[cursor]) != nullptr))
      ++cursor;
    value.text_ = text.substr(begin, cursor - begin);
    if (value.text_ == "true" || value.text_ == "false")
      value.kind_ = Kind::kBool;
    else if (value.text_ != "null")
      value.kind_ = Kind::kNumber;
    if (value.text_.empty()) fail("no value", cursor);
    return value;
  }
  static JsonValue read_object(std::string_view text, std::size_t& cursor) {
    JsonValue value;
    value.kind_ = Kind::kObject;
    ++cursor;
    if (take(text, cursor, '}')) return value;
    do {
      skip_space(text, cursor);
      if (cursor >= text.size() || text[cursor] != '"') fail("no member name", cursor);
      std::string key = read_string(text, cursor);
      if (!take(text, cursor, ':')) fail("no colon", cursor);
      value.members_[std::move(key)] = read(text, cursor);
    } while (take(text, cursor, ','));
    if (!take(text, cursor, '}')) fail("an object without end", cursor);
    return value;
  }
  static JsonValue read_array(std::string_view text, std::size_t& cursor) {
    JsonValue value;
    value.kind_ = Kind::kArray;
    ++cursor;
    if (take(text, cursor, ']')) return value;
    do {
      value.items_.push_back(read(text, cursor));
    } while (take(text, cursor, ','));
    if (!take(text, cursor, ']')) fail("an array without end", cursor);
    return value;
  }
  static std::string read_string(std::string_view text, std::size_t& cursor) {
    std::string out;
    for (++cursor; cursor < text.size() && text[cursor] != '"'; ++cursor) {
      if (text[cursor] != '\\') {
        out += text[cursor];
        continue;
      }
      if (++cursor >= text.size()) break;
      switch (text[cursor]) {
        case 'n':
          out += '\n';
          break;
        case 't':
          out += '\t';
          break;
        case 'r':
          out += '\r';
          break;
        case 'b':
          out += '\b';
          break;
        case 'f':
          out += '\f';
          break;
        case 'u':
          append_utf8(out, read_escape(text, cursor));
          break;
        default:
          out += text[cursor];
      }
    }
    if (cursor >= text.size()) fail("a string without end", cursor);
    ++cursor;
    return out;
  }
  // `at` is at the u, and stays at the last digit.
  static std::uint32_t read_escape(std::string_view text, std::size_t& cursor) {
    const auto digits = [&text](std::size_t from) {
      return static_cast<std::uint32_t>(std::strtoul(std::string(text.substr(from, 4)).c_str(), nullptr, 16));
    };
    std::uint32_t code = digits(cursor + 1);
    cursor += 4;
    if (code >= 0xD800 && code < 0xDC00 && text.substr(cursor + 1, 2) == "\\u") {
      code = 0x10000 + ((code - 0xD800) << 10) + (digits(cursor + 3) - 0xDC00);
      cursor += 6;
    }
    return code;
  }
  static void append_utf8(std::string& out, std::uint32_t code) {
    const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xC0 | code >> 6), tail(0);
    } else if (code < 0x10000) {
      out += static_cast<char>(0xE0 | code >> 12), tail(6), tail(0);
    } else {
      out += static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0);
    }
  }

  Kind kind_ = Kind::kNull;
  std::string text_;
  std::vector<JsonValue> items_;
  std::map<std::string, JsonValue> members_;
};

}  // namespace rangefinder::testing
