// SPDX-License-Identifier: MIT
#include "importer/capture/node_origins.hpp"

#include <algorithm>

namespace rangefinder::importer {

void NodeOrigins::add(const AssembledSequence& sequence) {
  Thread& thread = threads_[sequence.forward_thread];
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
  const auto found = threads_.find(node.forward_thread);
  if (node.sequence < 0 || found == threads_.end()) return nullptr;
  const auto number = static_cast<std::uint64_t>(node.sequence);
  const std::deque<Origin>& origins = found->second.origins;
  const auto origin = std::upper_bound(origins.begin(), origins.end(), number,
                                       [](std::uint64_t value, const Origin& each) { return value < each.end; });
  return number >= found->second.first && origin != origins.end() && origin->known ? &*origin : nullptr;
}

}  // namespace rangefinder::importer
