// SPDX-License-Identifier: MIT
#include "importer/capture/node_origins.hpp"

#include <algorithm>

namespace rangefinder::importer {

NodeOrigins::Origin NodeOrigins::origin_of(const AssembledSequence& sequence, std::uint64_t node) noexcept {
  return {sequence.next, sequence.ticks, sequence.thread, !sequence.resumed, sequence.scoped != 0, sequence.range,
          node};
}

void NodeOrigins::set_to_come(const AssembledSequence& sequence, std::uint64_t node) {
  threads_[sequence.forward_thread].to_come = origin_of(sequence, node);
}

void NodeOrigins::add(const AssembledSequence& sequence, std::uint64_t node) {
  Thread& thread = threads_[sequence.forward_thread];
  std::deque<Origin>& origins = thread.origins;
  const Origin origin = origin_of(sequence, node);
  thread.to_come.reset();
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
  if (number < found->second.first) return nullptr;
  if (origin == origins.end()) return found->second.to_come ? &*found->second.to_come : nullptr;
  return origin->known ? &*origin : nullptr;
}

}  // namespace rangefinder::importer
