// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace rangefinder::base {

/// Whether a text is what a pattern says, in which `*` stands for any text, also none. `same` compares characters.
/// Goes back to the last `*` only, which is enough, so that no pattern takes more than a product of the two lengths.
template <typename Same = std::equal_to<char>>
bool fits_wildcard(std::string_view pattern, std::string_view text, Same same = {}) noexcept {
  std::size_t at = 0;
  std::size_t from = 0;
  std::size_t star = std::string_view::npos;
  std::size_t matched = 0;
  while (from < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      matched = from;
    } else if (at < pattern.size() && same(pattern[at], text[from])) {
      ++at, ++from;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      from = ++matched;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace rangefinder::base
