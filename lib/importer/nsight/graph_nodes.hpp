// SPDX-License-Identifier: MIT
#pragma once

#include "importer/nsight/entities.hpp"
#include "importer/nsight/import_context.hpp"

#include <cstdint>
#include <map>
#include <utility>

namespace rangefinder::importer::nsight {

/// Where the nodes of CUDA graphs were made, which Nsight records with --cuda-graph-trace=node. A graph that is made
/// executable has new nodes, which say of which they are copies; kernels name those.
class GraphNodes {
 public:
  explicit GraphNodes(Timeline& timeline) noexcept : timeline_(timeline) {}

  void read(ImportContext& context, Entities& entities);
  /// Once all activities have their launches: launches that made nodes, and ActivityTable::captured.
  void finish();

 private:
  using Key = std::pair<ProcessIndex, std::int64_t>;
  struct Node {
    std::int64_t time_ns;
    ThreadIndex thread;     ///< kNone: not said
    std::int64_t original;  ///< the node that it is a copy of; 0: it is none
  };
  const Node* first_of(Key key) const;

  Timeline& timeline_;
  std::map<Key, Node> nodes_;
};

}  // namespace rangefinder::importer::nsight
