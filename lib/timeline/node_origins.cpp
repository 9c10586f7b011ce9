// SPDX-License-Identifier: MIT
#include "timeline/node_origins.hpp"

#include <algorithm>
#include <optional>

namespace rangefinder::timeline {

void NodeOrigins::add(const AssembledSequence& sequence) {
  Thread& thread = threads_[sequence.made_on];
  std::deque<Origin>& origins = thread.origins;
  const Origin origin{sequence.next, sequence.ticks, sequence.thread, !sequence.resumed, sequence.scoped != 0};
  if (origins.empty() || sequence.next > origins.back().end) {
    origins.push_back(origin);
    if (origins.size() <= most_) return;
    thread.first = origins.front().end;
    origins.pop_front();
  } else if (sequence.next == origins.back().end && sequence.ticks > origins.back().ticks) {
    origins.back() = origin;  // the last numbers of a thread that was recorded as two
  }
}

const NodeOrigins::Origin* NodeOrigins::find(const AssembledNode& node) const {
  const auto found = threads_.find(node.made_on);
  if (node.sequence < 0 || found == threads_.end()) return nullptr;
  const auto number = static_cast<std::uint64_t>(node.sequence);
  const std::deque<Origin>& origins = found->second.origins;
  const auto origin = std::upper_bound(origins.begin(), origins.end(), number,
                                       [](std::uint64_t value, const Origin& each) { return value < each.end; });
  return number >= found->second.first && origin != origins.end() && origin->known ? &*origin : nullptr;
}

bool is_engine_thread(std::string_view name) noexcept { return name.starts_with("pt_autograd"); }

void last_until_the_next(NodeTable& nodes, std::size_t first, const std::function<bool(ThreadIndex)>& is_engine) {
  std::vector<std::size_t> running;  // innermost last
  for (std::size_t next = first; next < nodes.size(); ++next) {
    if (next == first || nodes.thread[next - 1] != nodes.thread[next]) running.clear();
    std::optional<std::size_t> before;  // that ran in the same node, or in none
    while (!running.empty() && nodes.end_ns[running.back()] <= nodes.begin_ns[next]) {
      before = running.back();
      running.pop_back();
    }
    if (before && is_engine(nodes.thread[next])) nodes.end_ns[*before] = nodes.begin_ns[next];
    running.push_back(next);
  }
}

}  // namespace rangefinder::timeline
