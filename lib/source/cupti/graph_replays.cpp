// SPDX-License-Identifier: MIT
#include "source/cupti/graph_replays.hpp"

#include <algorithm>

namespace rangefinder::source::cupti {

void GraphReplays::begin(std::uint32_t wanted) noexcept {
  wanted_ = wanted;
  flushes_ = 0;
  graphs_.clear();
}

GraphReplays::Graph* GraphReplays::graph_of(std::uint32_t graph) {
  if (wanted_ == 0) return nullptr;
  const auto known = graphs_.find(graph);
  if (known == graphs_.end() && graphs_.size() >= kMostGraphs) return nullptr;
  Graph& found = known != graphs_.end() ? known->second : graphs_[graph];
  found.seen = flushes_;
  return &found;
}

void GraphReplays::saw_operation(std::uint32_t graph, std::uint32_t correlation) {
  Graph* const found = graph_of(graph);
  if (found == nullptr || found->correlation == correlation) return;
  found->correlation = correlation;
  ++found->replays;
}

void GraphReplays::saw_whole(std::uint32_t graph) { (void)graph_of(graph); }

bool GraphReplays::decide() noexcept {
  if (wanted_ == 0) return false;
  bool any = false;
  const bool all = std::all_of(graphs_.begin(), graphs_.end(), [&](const auto& entry) {
    const Graph& graph = entry.second;
    any = any || graph.replays >= wanted_;
    return graph.replays >= wanted_ || flushes_ - graph.seen >= kPatience;
  });
  ++flushes_;
  return all && any;
}

}  // namespace rangefinder::source::cupti
