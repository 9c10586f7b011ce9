// SPDX-License-Identifier: MIT
#include "report/wrapped.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace rangefinder::report {
namespace {

/// The bytes of `text` that fit into `room` columns; at least one character.
std::size_t fitting(std::string_view text, std::size_t room) {
  char32_t first = 0;
  const std::size_t fit = base::bytes_within(text, room);
  return fit != 0 ? fit : std::max<std::size_t>(1, base::decode_utf8(text, first));
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  if (width == 0 || base::display_width(text) <= width) return std::string(text);
  const std::string margin(indent < width / 2 ? indent : 0, ' ');
  std::string out;
  std::size_t column = 0;     // of what is written next
  bool line_is_empty = true;  // but for the margin
  const auto break_line = [&] {
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += "\n" + margin;
    column = margin.size();
    line_is_empty = true;
  };
  while (!text.empty()) {
    const std::size_t spaces = std::min(text.find_first_not_of(' '), text.size());
    const std::string_view word = text.substr(spaces, std::min(text.find(' ', spaces), text.size()) - spaces);
    if (!line_is_empty && column + spaces + base::display_width(word) > width)
      break_line();
    else
      out.append(spaces, ' '), column += spaces;
    text.remove_prefix(spaces + word.size());
    for (std::string_view rest = word; !rest.empty();) {
      const std::size_t length = fitting(rest, width > column ? width - column : 0);
      out.append(rest.substr(0, length));
      column += base::display_width(rest.substr(0, length));
      line_is_empty = false;
      rest.remove_prefix(length);
      if (!rest.empty()) break_line();
    }
  }
  return out;
}

}  // namespace rangefinder::report
