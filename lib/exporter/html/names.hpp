// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/html/blocks.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::html {

/// The names that a page needs, frequent ones first. First everything that will be written is counted, then the names
/// get their numbers:
///
///   names.count(id);           // once for each slice
///   names.put_in_order();
///   names.index(id);           // what a column `name` holds
class Names {
 public:
  explicit Names(const Timeline& timeline) : timeline_(timeline), counts_(timeline.string_count()) {}

  void count(StringId id) noexcept { ++counts_[static_cast<std::uint32_t>(id)]; }
  /// Words of ours, which no name of the timeline is; they come behind all names.
  void count(std::string_view words);
  void put_in_order();

  std::uint64_t index(StringId id) const noexcept { return indices_[static_cast<std::uint32_t>(id)]; }
  /// Of words that were counted.
  std::uint64_t index(std::string_view words) const noexcept { return words_.find(words)->second; }

  /// Puts them into a block, and gives the member `names` of the index.
  std::string json(Blocks& blocks) const;

 private:
  const Timeline& timeline_;
  std::vector<std::uint64_t> counts_;                        // by StringId
  std::vector<std::uint32_t> indices_;                       // likewise
  std::vector<std::uint32_t> order_;                         // StringIds
  std::map<std::string, std::uint64_t, std::less<>> words_;  // and the index of each
};

}  // namespace rangefinder::html
