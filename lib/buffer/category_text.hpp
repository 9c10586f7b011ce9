// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/nvtx.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace rangefinder::buffer {

/// What the text of a category that was interned is made of: a domain before it, a colour behind it.
struct CategoryText {
  std::optional<std::string_view> domain;
  std::string_view category;
  std::optional<std::string_view> colour;
};

inline CategoryText parts_of_category(std::string_view text) noexcept {
  CategoryText parts;
  if (const std::size_t end = text.rfind(detail::kBehindCategory); end != std::string_view::npos) {
    parts.colour = text.substr(end + 1);
    text = text.substr(0, end);
  }
  if (const std::size_t end = text.find(detail::kBehindDomain); end != std::string_view::npos) {
    parts.domain = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  parts.category = text;
  return parts;
}

}  // namespace rangefinder::buffer
