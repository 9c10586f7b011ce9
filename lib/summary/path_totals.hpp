// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/session.hpp>

#include <array>
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
  void begin(std::uint64_t key, std::uint64_t parent, std::uint32_t name, std::int64_t begin_ns);
  /// The row of a range that has begun; null for a key that is not known.
  SummaryRow* row(std::uint64_t key);
  /// The number of its path, which stays; 0 for a key that is not known.
  std::uint32_t path(std::uint64_t key) const noexcept;
  /// kNoTime likewise.
  std::int64_t begin_ns(std::uint64_t key) const noexcept;
  /// It was over when the recording began: its path has a row if it owns work, whether it runs in the recording or not.
  void note_before(std::uint64_t key) { nodes_[path(key)].was_before = true; }
  /// Device time on a path, 0: outside of any range. Paths around it count it, too.
  void add_pass(std::uint32_t path, Pass pass, std::int64_t duration_ns);
  /// Nothing more will be asked of this range.
  void forget(std::uint64_t key) { open_.erase(key); }
  /// Parents before children, siblings in order of first appearance.
  std::vector<SummaryRow> rows() const;

 private:
  struct Node {
    SummaryRow row;
    std::uint32_t parent = 0;
    std::vector<std::uint32_t> children;
    std::array<std::int64_t, kPasses> pass_ns{};  ///< of itself alone
    bool was_before = false;
  };
  std::uint32_t child(std::uint32_t parent, std::uint32_t name);

  std::vector<Node> nodes_;                                   // 0: the root, no row
  std::unordered_map<std::uint64_t, std::uint32_t> by_name_;  // parent node << 32 | name -> node
  struct Open {
    std::uint32_t node;
    std::int64_t begin_ns;
  };
  std::unordered_map<std::uint64_t, Open> open_;  // by key
};

}  // namespace rangefinder::summary
