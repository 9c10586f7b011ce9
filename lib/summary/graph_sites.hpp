// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace rangefinder::summary {

/// Where the nodes of CUDA graphs were made: a tag of the launch that made each, or 0. Memory: the nodes that were ever
/// announced, and the launches of two updates.
class GraphSites {
 public:
  /// A launch, by format::launch_key; `makes_node`: it is nothing but the note of one.
  void add_launch(std::uint64_t key, std::uint64_t tag, bool makes_node);
  /// From `time_ns` on the node does what that launch made; key 0: not known.
  void add_node(std::uint64_t node, std::int64_t time_ns, std::uint64_t key);
  std::uint64_t tag_of(std::uint64_t node, std::int64_t time_ns) const noexcept;
  /// Launches of the update before the last have made what they make.
  void end_update();

 private:
  struct Made {
    std::int64_t time_ns;
    std::uint64_t key;
  };
  using Tags = std::unordered_map<std::uint64_t, std::uint64_t>;
  std::unordered_map<std::uint64_t, std::vector<Made>> nodes_;
  Tags makers_;                               // launches that made a node
  Tags newest_, before_;                      // all others, of this update and the last
  std::unordered_set<std::uint64_t> wanted_;  // that made a node, but have not come yet
};

}  // namespace rangefinder::summary
