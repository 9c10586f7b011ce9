// SPDX-License-Identifier: MIT
#include "source/counters/range_choice.hpp"

#include "buffer/category_text.hpp"
#include "buffer/name_table.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::source::counters {
bool matches(std::string_view pattern, std::string_view text) noexcept {
  // Where the last star stood, and how much text it stands for so far.
  std::size_t star = std::string_view::npos;
  std::size_t taken = 0;
  std::size_t p = 0;
  std::size_t t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

RangeChoice::RangeChoice(std::vector<std::string> names, std::string_view category, int depth)
    : patterns_(std::move(names)),
      category_(category),
      depth_(depth),
      known_(buffer::NameTable::kMaxNames + buffer::NameTable::kReservedNames + 1) {}

bool RangeChoice::find_name(std::uint32_t name) const noexcept {
  const std::string_view text = buffer::names().text(name);
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const std::string& pattern) { return matches(pattern, text); });
}

bool RangeChoice::contains(std::uint32_t name, std::uint32_t category, std::uint32_t depth) noexcept {
  if (depth_ >= 0 && depth != static_cast<std::uint32_t>(depth_)) return false;
  if (!category_.empty()) {
    if (category == 0) return false;
    if (buffer::parts_of_category(buffer::categories().text(category)).category != category_) return false;
  }
  if (patterns_.empty()) return true;
  if (name == 0 || name >= known_.size()) return false;
  std::uint8_t known = known_[name].load(std::memory_order_relaxed);
  if (known == kUnknown) {
    known = find_name(name) ? kYes : kNo;
    known_[name].store(known, std::memory_order_relaxed);
  }
  return known == kYes;
}

}  // namespace rangefinder::source::counters
