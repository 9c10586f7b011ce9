// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::testing {

/// JSON the obvious way, to check the fast reader against: one byte at a time, everything copied. Numbers and words
/// stay text, strings stay escaped.
struct SlowJson {
  enum class Type { kWord, kString, kArray, kObject } type = Type::kWord;
  std::string text;
  std::vector<SlowJson> elements;
  std::map<std::string, SlowJson> members;

  const SlowJson* find(const std::string& key) const {
    const auto at = members.find(key);
    return at == members.end() ? nullptr : &at->second;
  }
  std::string text_of(const std::string& key) const { return find(key) == nullptr ? "" : find(key)->text; }
};

class SlowJsonReader {
 public:
  explicit SlowJsonReader(std::string_view text) : text_(text) {}

  char peek() {
    while (at_ < text_.size() && std::string_view(" \n\r\t").find(text_[at_]) != std::string_view::npos) ++at_;
    if (at_ == text_.size()) throw std::runtime_error("slow JSON: cut off");
    return text_[at_];
  }
  void expect(char c) {
    if (peek() != c) throw std::runtime_error("slow JSON: unexpected byte at " + std::to_string(at_));
    ++at_;
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::string string() {
    expect('"');
    std::string out;
    while (text_.at(at_) != '"') {
      if (text_[at_] == '\\') out += text_[at_++];
      out += text_.at(at_++);
    }
    ++at_;
    return out;
  }
  SlowJson value() {
    SlowJson out;
    if (peek() == '"') {
      out.type = SlowJson::Type::kString;
      out.text = string();
    } else if (take('[')) {
      out.type = SlowJson::Type::kArray;
      while (!take(']')) {
        out.elements.push_back(value());
        if (peek() != ']') expect(',');
      }
    } else if (take('{')) {
      out.type = SlowJson::Type::kObject;
      while (!take('}')) {
        const std::string key = string();
        expect(':');
        out.members[key] = value();
        if (peek() != '}') expect(',');
      }
    } else {
      while (at_ < text_.size() && std::string_view(",]} \n\r\t").find(text_[at_]) == std::string_view::npos)
        out.text += text_[at_++];
    }
    return out;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace rangefinder::testing
