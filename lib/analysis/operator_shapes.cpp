// SPDX-License-Identifier: MIT
#include "analysis/operator_shapes.hpp"

#include <charconv>
#include <system_error>

namespace rangefinder::analysis {
namespace {

// An operator has a handful of inputs of a handful of dimensions; a file may claim more.
constexpr std::size_t kMaxInputs = 64;
constexpr std::size_t kMaxDimensions = 16;

}  // namespace

Shape numbers_in(std::string_view text) {
  Shape numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && numbers.size() <= kMaxDimensions) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc()) numbers.push_back(number);
    at = next != at ? next : at + 1;
  }
  return numbers;
}

std::vector<Shape> shapes_in(std::string_view text) {
  std::vector<Shape> shapes;
  int depth = 0;
  bool nested = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size() && shapes.size() < kMaxInputs; ++i) {
    if (text[i] == '[') {
      ++depth;
      if (depth == 2) begin = i + 1;
      nested = depth > 2 || (nested && depth != 2);
    } else if (text[i] == ']') {
      if (depth == 2) shapes.push_back(nested ? Shape{} : numbers_in(text.substr(begin, i - begin)));
      if (depth == 2) nested = false;
      --depth;
    }
  }
  return shapes;
}

std::vector<std::string_view> texts_in(std::string_view text) {
  std::vector<std::string_view> texts;
  for (std::size_t at = text.find('"'); at != std::string_view::npos && texts.size() < kMaxInputs;) {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size()) break;
    texts.push_back(text.substr(at + 1, end - at - 1));
    at = text.find('"', end + 1);
  }
  return texts;
}

bool is_true(std::string_view value) noexcept { return value.find_first_of("T1") != std::string_view::npos; }

}  // namespace rangefinder::analysis
