// SPDX-License-Identifier: MIT
#include "summary/graph_sites.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::summary {

void GraphSites::add_launch(std::uint64_t key, std::uint64_t tag) {
  newest_.insert_or_assign(key, tag);
  if (const auto maker = makers_.find(key); maker != makers_.end()) maker->second.tag = tag;
}

void GraphSites::add_node(std::uint64_t node, std::int64_t time_ns, std::uint64_t key) {
  std::vector<Made>& made = nodes_[node];
  made.push_back({time_ns, key});
  ++states_;
  if (made.size() == 2) changed_.push_back(node);
  if (key == 0) return;
  Maker& maker = makers_[key];
  ++maker.uses;
  for (const auto* launches : {&newest_, &before_}) {
    if (maker.tag != 0) break;
    if (const auto launch = launches->find(key); launch != launches->end()) maker.tag = launch->second;
  }
}

void GraphSites::remove_node(std::uint64_t node, std::int64_t time_ns) { gone_.emplace_back(time_ns, node); }

std::uint64_t GraphSites::tag_of(std::uint64_t node, std::int64_t time_ns, std::int64_t clock_error_ns) const noexcept {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return 0;
  const std::vector<Made>& made = known->second;
  const auto last = std::find_if(made.rbegin(), made.rend(), [&](const Made& one) { return one.time_ns <= time_ns; });
  // What it became later it was not yet.
  if (last == made.rend() && made.front().time_ns - time_ns > clock_error_ns) return 0;
  const auto maker = makers_.find(last != made.rend() ? last->key : made.front().key);
  return maker != makers_.end() ? maker->second.tag : 0;
}

/// The first `count` of them.
void GraphSites::let_go(std::vector<Made>& made, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto maker = makers_.find(made[i].key);
    if (maker != makers_.end() && --maker->second.uses == 0) makers_.erase(maker);
  }
  made.erase(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(count));
  states_ -= count;
}

void GraphSites::end_update(std::int64_t time_ns) {
  before_ = std::move(newest_);
  newest_.clear();
  std::erase_if(changed_, [&](std::uint64_t node) {
    const auto known = nodes_.find(node);
    if (known == nodes_.end()) return true;
    std::vector<Made>& made = known->second;
    std::size_t old = 0;
    while (old + 1 < made.size() && made[old + 1].time_ns <= time_ns) ++old;
    let_go(made, old);
    return made.size() == 1;
  });
  std::erase_if(gone_, [&](const auto& gone) {
    if (gone.first > time_ns) return false;
    if (const auto known = nodes_.find(gone.second); known != nodes_.end()) {
      let_go(known->second, known->second.size());
      nodes_.erase(known);
    }
    return true;
  });
}

}  // namespace rangefinder::summary
