// SPDX-License-Identifier: MIT
#include "timeline/node_origins.hpp"

#include <algorithm>
#include <tuple>

namespace rangefinder::timeline {

void NodeOrigins::add(const AssembledSequence& sequence) {
  std::vector<Origin>& origins = origins_[sequence.made_on];
  const Origin origin{sequence.next, sequence.ticks, sequence.thread, !sequence.resumed};
  if (origins.empty() || sequence.next > origins.back().end) {
    origins.push_back(origin);
  } else if (sequence.next == origins.back().end && sequence.ticks > origins.back().ticks) {
    origins.back() = origin;  // the last numbers of a thread that was recorded as two
  }
}

const NodeOrigins::Origin* NodeOrigins::find(const AssembledNode& node) const {
  const auto found = origins_.find(node.made_on);
  if (node.sequence < 0 || found == origins_.end()) return nullptr;
  const auto number = static_cast<std::uint64_t>(node.sequence);
  const auto origin = std::upper_bound(found->second.begin(), found->second.end(), number,
                                       [](std::uint64_t value, const Origin& each) { return value < each.end; });
  return origin != found->second.end() && origin->known ? &*origin : nullptr;
}

bool is_engine_thread(std::string_view name) noexcept { return name.starts_with("pt_autograd"); }

void last_until_the_next(std::vector<AssembledNode>& nodes, const std::function<bool(std::uint32_t)>& is_engine) {
  std::stable_sort(nodes.begin(), nodes.end(), [](const AssembledNode& a, const AssembledNode& b) {
    return std::tie(a.thread, a.begin_ticks, b.end_ticks) < std::tie(b.thread, b.begin_ticks, a.end_ticks);
  });
  std::vector<AssembledNode*> running;  // innermost last
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    AssembledNode& next = nodes[i];
    if (i == 0 || nodes[i - 1].thread != next.thread) running.clear();
    AssembledNode* before = nullptr;  // that ran in the same node, or in none
    while (!running.empty() && running.back()->end_ticks <= next.begin_ticks) {
      before = running.back();
      running.pop_back();
    }
    if (before != nullptr && is_engine(next.thread)) before->end_ticks = next.begin_ticks;
    running.push_back(&next);
  }
}

}  // namespace rangefinder::timeline
