// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::summary {

/// Where the nodes of CUDA graphs were made: a tag of the launch that made each, or 0. Memory: the nodes that there
/// are, what they were when work that may still come was launched, and the launches of two updates.
class GraphSites {
 public:
  /// A launch, or the note of a node, by format::launch_key.
  void add_launch(std::uint64_t key, std::uint64_t tag);
  /// From `time_ns` on the node does what that launch made; key 0: not known.
  void add_node(std::uint64_t node, std::int64_t time_ns, std::uint64_t key);
  /// The node is gone since then.
  void remove_node(std::uint64_t node, std::int64_t time_ns);
  /// Of a node, as it was at that time, which can be off by `clock_error_ns`.
  std::uint64_t tag_of(std::uint64_t node, std::int64_t time_ns, std::int64_t clock_error_ns = 0) const noexcept;
  /// Launches of the update before the last have made what they make, and times before `time_ns` are not asked for.
  void end_update(std::int64_t time_ns);

  /// Nodes as they are and were, and what made them.
  std::size_t remembered() const noexcept { return states_ + makers_.size(); }

 private:
  struct Made {
    std::int64_t time_ns;
    std::uint64_t key;
  };
  struct Maker {
    std::uint64_t tag = 0;   // 0: has not come yet
    std::uint64_t uses = 0;  // by nodes as they are or were
  };
  using Nodes = std::unordered_map<std::uint64_t, std::vector<Made>>;
  void let_go(std::vector<Made>& made, std::size_t count);

  Nodes nodes_;
  std::size_t states_ = 0;
  std::unordered_map<std::uint64_t, Maker> makers_;
  std::unordered_map<std::uint64_t, std::uint64_t> newest_, before_;  // tags of launches, of this update and the last
  std::vector<std::uint64_t> changed_;                                // nodes that were something else before
  std::vector<std::pair<std::int64_t, std::uint64_t>> gone_;          // since when, nodes
};

}  // namespace rangefinder::summary
