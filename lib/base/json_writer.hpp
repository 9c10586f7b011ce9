// SPDX-License-Identifier: MIT
#pragma once

#include "base/text.hpp"

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::base {

/// What stands between the parts of JSON, and how texts are quoted.
struct JsonStyle {
  std::string_view comma = ",";
  std::string_view colon = ":";
  void (*append_string)(std::string& out, std::string_view text) = append_json_string;
};

/// `{"name": "step", "count": 3}`
inline constexpr JsonStyle kSpacedJson{", ", ": "};

/// Appends a list of texts: `["a", "b"]`.
void append_json_list(std::string& out, const std::vector<std::string>& texts, const JsonStyle& style = {});

/// Appends the members of a JSON object; the braces are the caller's:
///
///   std::string out = "{";
///   base::JsonWriter(out).text("name", name).number("count", 3);
///   out += '}';
class JsonWriter {
 public:
  /// `style` is copied. `out` must outlive this, and may get other text between two members.
  explicit JsonWriter(std::string& out, const JsonStyle& style = {}) : out_(out), style_(style) {}

  /// Begins a member, whose value the caller appends to what is returned.
  std::string& key(std::string_view name);
  /// A value that is JSON.
  JsonWriter& json(std::string_view name, std::string_view value);
  JsonWriter& text(std::string_view name, std::string_view value);
  JsonWriter& texts(std::string_view name, const std::vector<std::string>& values) {
    append_json_list(key(name), values, style_);
    return *this;
  }
  JsonWriter& boolean(std::string_view name, bool value) { return json(name, value ? "true" : "false"); }
  template <std::integral Number>
  JsonWriter& number(std::string_view name, Number value) {
    return json(name, std::to_string(value));
  }
  /// As short as it reads back: 2 is `2`. What is not finite, which JSON does not know, is null.
  JsonWriter& number(std::string_view name, double value);

 private:
  std::string& out_;
  JsonStyle style_;
  bool is_first_ = true;
};

}  // namespace rangefinder::base
