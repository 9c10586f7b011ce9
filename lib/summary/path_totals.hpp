// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/session.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rangefinder::summary {

/// Figures by path of names.
class PathTotals {
 public:
  PathTotals() { nodes_.emplace_back(); }
  /// The number of a path, which stays. `parent`: the path around it; 0: none. `text` is that of the name.
  std::uint32_t path(std::uint32_t parent, StringId name, std::string_view text);
  SummaryRow& row(std::uint32_t path) { return nodes_[path].row; }
  /// A range there was over when the recording began: the path has a row if it owns work, whether it runs in the
  /// recording or not.
  void note_before(std::uint32_t path) { nodes_[path].was_before = true; }
  /// Parents before children, siblings in order of first appearance.
  std::vector<SummaryRow> rows() const;

 private:
  struct Node {
    SummaryRow row;
    std::vector<std::uint32_t> children;
    bool was_before = false;
  };

  std::vector<Node> nodes_;                                   // 0: the root, no row
  std::unordered_map<std::uint64_t, std::uint32_t> by_name_;  // parent << 32 | name -> node
};

}  // namespace rangefinder::summary
