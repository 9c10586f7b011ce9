// SPDX-License-Identifier: MIT
#include "source/cupti/graph_replays.hpp"

#include <algorithm>

namespace rangefinder::source::cupti {

void GraphReplays::begin(std::uint32_t wanted) noexcept {
  wanted_ = wanted;
  flushes_ = 0;
  known_.clear();
  new_.clear();
}

/// Null where nothing is to be counted of it.
GraphReplays::Graph* GraphReplays::new_graph(std::uint32_t graph) {
  if (wanted_ == 0 || known_.contains(graph)) return nullptr;
  const auto found = new_.find(graph);
  if (found == new_.end() && new_.size() >= kMaxGraphs) return nullptr;
  Graph& one = found != new_.end() ? found->second : new_[graph];
  one.seen = flushes_;
  return &one;
}

void GraphReplays::saw_operation(std::uint32_t graph, std::uint32_t correlation) {
  Graph* const found = new_graph(graph);
  if (found == nullptr || found->correlation == correlation) return;
  found->correlation = correlation;
  ++found->launches;
  if (++found->replays < wanted_) return;
  if (known_.size() >= kMaxGraphs) known_.clear();
  known_.insert(graph);
  new_.erase(graph);
}

void GraphReplays::saw_whole(std::uint32_t graph) {
  if (Graph* const found = new_graph(graph)) ++found->launches;
}

bool GraphReplays::decide() noexcept {
  if (wanted_ == 0) return false;
  std::erase_if(new_, [this](const auto& entry) { return flushes_ - entry.second.seen >= kPatience; });
  ++flushes_;
  const bool waits = std::any_of(new_.begin(), new_.end(), [](const auto& entry) { return entry.second.launches > 1; });
  return !waits;
}

}  // namespace rangefinder::source::cupti
