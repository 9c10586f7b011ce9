// SPDX-License-Identifier: MIT
#include "base/json_writer.hpp"

#include <charconv>
#include <cmath>
#include <iterator>

namespace rangefinder::base {

void append_json_list(std::string& out, const std::vector<std::string>& texts, const JsonStyle& style) {
  out += '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i != 0) out += style.comma;
    style.append_string(out, texts[i]);
  }
  out += ']';
}

std::string& JsonWriter::key(std::string_view name) {
  if (!is_first_) out_ += style_.comma;
  is_first_ = false;
  style_.append_string(out_, name);
  out_ += style_.colon;
  return out_;
}

JsonWriter& JsonWriter::json(std::string_view name, std::string_view value) {
  key(name) += value;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view name, std::string_view value) {
  style_.append_string(key(name), value);
  return *this;
}

JsonWriter& JsonWriter::number(std::string_view name, double value) {
  if (!std::isfinite(value)) return json(name, "null");
  char digits[32];
  const char* const end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  return json(name, {std::begin(digits), end});
}

}  // namespace rangefinder::base
