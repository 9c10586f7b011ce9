// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::source::counters {

/// Whether a text is what a pattern stands for: * any text, ? one byte, all else itself.
bool matches(std::string_view pattern, std::string_view text) noexcept;

/// Which ranges to count: by name, category and depth. Names are looked at once each.
///
/// Threads: any.
class RangeChoice {
 public:
  /// `names`: patterns; empty: all. `category`: empty: any. `depth`: -1: any.
  RangeChoice(std::vector<std::string> names, std::string_view category, int depth);

  /// By ids of the name table and the category table.
  bool contains(std::uint32_t name, std::uint32_t category, std::uint32_t depth) noexcept;

 private:
  enum Known : std::uint8_t { kUnknown, kYes, kNo };
  bool find_name(std::uint32_t name) const noexcept;

  std::vector<std::string> patterns_;
  std::string category_;
  int depth_;
  std::vector<std::atomic<std::uint8_t>> known_;  // by name
};

}  // namespace rangefinder::source::counters
