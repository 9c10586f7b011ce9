// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/session.hpp>

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rangefinder::summary {

/// Figures by path of names. A range is known by its key from the moment it begins, so that what is inside a range that
/// is still open has its path too.
class PathTotals {
 public:
  PathTotals();
  void begin(std::uint64_t key, std::uint64_t parent, std::uint32_t name);
  /// The row of a range that has begun; null for a key that is not known.
  SummaryRow* row(std::uint64_t key);
  /// Nothing more will be asked of this range.
  void forget(std::uint64_t key) { nodes_of_.erase(key); }
  /// Parents before children, siblings in order of first appearance.
  std::vector<SummaryRow> rows() const;

 private:
  struct Node {
    SummaryRow row;
    std::vector<std::uint32_t> children;
  };
  std::uint32_t child(std::uint32_t parent, std::uint32_t name);

  std::vector<Node> nodes_;                                    // 0: the root, no row
  std::unordered_map<std::uint64_t, std::uint32_t> by_name_;   // parent node << 32 | name -> node
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_of_;  // key -> node
};

}  // namespace rangefinder::summary
