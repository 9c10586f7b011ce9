// SPDX-License-Identifier: MIT
#include "summary/graph_sites.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::summary {

void GraphSites::add_launch(std::uint64_t key, std::uint64_t tag, bool makes_node) {
  const bool is_maker = makes_node || wanted_.erase(key) != 0;
  (is_maker ? makers_ : newest_).insert_or_assign(key, tag);
}

void GraphSites::add_node(std::uint64_t node, std::int64_t time_ns, std::uint64_t key) {
  nodes_[node].push_back({time_ns, key});
  if (key == 0 || makers_.contains(key)) return;
  for (const Tags* launches : {&newest_, &before_}) {
    if (const auto launch = launches->find(key); launch != launches->end()) {
      makers_.insert_or_assign(key, launch->second);
      return;
    }
  }
  wanted_.insert(key);
}

std::uint64_t GraphSites::tag_of(std::uint64_t node, std::int64_t time_ns) const noexcept {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return 0;
  const std::vector<Made>& made = known->second;
  const auto last = std::find_if(made.rbegin(), made.rend(), [&](const Made& one) { return one.time_ns <= time_ns; });
  const auto maker = makers_.find(last != made.rend() ? last->key : made.front().key);
  return maker != makers_.end() ? maker->second : 0;
}

void GraphSites::end_update() {
  before_ = std::move(newest_);
  newest_.clear();
}

}  // namespace rangefinder::summary
