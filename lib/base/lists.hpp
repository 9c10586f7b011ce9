// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

// Lists of names as one text.
namespace rangefinder::base {

/// "a+b" at the plus sign: "a" and "b". Empty names are kept; an empty text is no name.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> names;
  for (bool more = !text.empty(); more;) {
    const std::size_t end = text.find(separator);
    names.emplace_back(text.substr(0, end));
    more = end != std::string_view::npos;
    if (more) text.remove_prefix(end + 1);
  }
  return names;
}

inline std::string joined(const std::vector<std::string>& names, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text.append(i == 0 ? "" : separator).append(names[i]);
  return text;
}

}  // namespace rangefinder::base
