// SPDX-License-Identifier: MIT
#include "timeline/node_makers.hpp"

#include "timeline/engine_threads.hpp"

#include <algorithm>
#include <tuple>

namespace rangefinder::timeline {
namespace {

// Threads that tell the same number are few in any training; a file may claim more.
constexpr std::size_t kMaxTellers = 64;

}  // namespace

void NodeMakers::add_operator(RangeIndex range, std::int64_t sequence) {
  const RangeTable& ranges = timeline_.ranges;
  if (sequence < 0 || ranges.begin_ns[range] == kNoTime) return;
  operators_.push_back({sequence, range});
}

void NodeMakers::add_node(RangeIndex range, std::int64_t sequence, std::int64_t forward_thread) {
  nodes_.push_back({range, sequence, forward_thread});
}

void NodeMakers::add_known_node(RangeIndex range, std::int64_t sequence, std::int64_t forward_tid,
                                std::int64_t made_ns) {
  nodes_.push_back({range, sequence, forward_tid, true, made_ns});
}

void NodeMakers::finish() {
  if (nodes_.empty()) return;
  if (std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.is_known; }))
    for (ThreadIndex thread{0}; thread < timeline_.threads.size(); ++thread)
      threads_by_tid_.try_emplace({timeline_.threads[thread].process, timeline_.threads[thread].tid}, thread);
  sort_operators();
  add_nodes();
  operators_.clear();
  nodes_ = std::vector<Node>();
}

ProcessIndex NodeMakers::process_of(RangeIndex range) const {
  return timeline_.threads[timeline_.ranges.thread[range]].process;
}

NodeMakers::Group NodeMakers::group_of(const Node& node) const {
  const auto thread = static_cast<std::int64_t>(timeline_.ranges.thread[node.range]);
  return {process_of(node.range), node.forward_thread == kNotSaid ? -1 - thread : node.forward_thread};
}

void NodeMakers::sort_operators() {
  std::sort(operators_.begin(), operators_.end(), [&](const Operator& a, const Operator& b) {
    return a.sequence != b.sequence ? a.sequence < b.sequence : key_of(a) < key_of(b);
  });
}

template <typename Use>
void NodeMakers::for_each_teller(const Node& node, Use use) const {
  const ProcessIndex process = process_of(node.range);
  const std::int64_t before_ns = timeline_.ranges.begin_ns[node.range];
  const auto is_before = [&](const Operator& told) {
    if (told.sequence != node.sequence) return told.sequence < node.sequence;
    return process_of(told.range) < process;
  };
  const RangeTable& ranges = timeline_.ranges;
  auto next = std::partition_point(operators_.begin(), operators_.end(), is_before);
  for (std::size_t i = 0; i < kMaxTellers; ++i) {
    if (next == operators_.end() || next->sequence != node.sequence || process_of(next->range) != process) return;
    const auto first = next;
    const ThreadIndex thread = ranges.thread[first->range];
    next = std::partition_point(first, operators_.end(), [&](const Operator& told) {
      return told.sequence == node.sequence && process_of(told.range) == process && ranges.thread[told.range] <= thread;
    });
    const auto after = std::partition_point(
        first, next, [&](const Operator& told) { return ranges.begin_ns[told.range] < before_ns; });
    if (after != first) use(after[-1]);
  }
}

std::map<NodeMakers::Group, NodeMakers::Votes> NodeMakers::count_votes() const {
  std::map<Group, Votes> votes;
  for (const Node& node : nodes_) {
    if (node.sequence < 0 || node.is_known) continue;
    Votes& of_group = votes[group_of(node)];
    for_each_teller(node, [&](const Operator& told) { ++of_group.of_thread[timeline_.ranges.thread[told.range]]; });
  }
  for (auto& [group, of_group] : votes) {
    std::uint64_t most = 0;
    for (const auto& [thread, count] : of_group.of_thread) {
      if (count == most) of_group.most = kNone;
      if (count > most) of_group.most = thread;
      most = std::max(most, count);
    }
  }
  return votes;
}

const NodeMakers::Operator* NodeMakers::maker_of(const Node& node, const Votes& votes) const {
  const Operator* best = nullptr;
  std::uint64_t most = 0;
  for_each_teller(node, [&](const Operator& told) {
    const ThreadIndex thread = timeline_.ranges.thread[told.range];
    if (node.forward_thread != kNotSaid && thread != votes.most) return;
    const std::uint64_t count = votes.of_thread.at(thread);
    if (count == most) best = nullptr;
    if (count > most) best = &told;
    most = std::max(most, count);
  });
  return best;
}

NodeMakers::Made NodeMakers::known_making_of(const Node& node) const {
  const auto found = threads_by_tid_.find({process_of(node.range), node.forward_thread});
  return node.made_ns == kNoTime || found == threads_by_tid_.end() ? Made{} : Made{found->second, node.made_ns};
}

void NodeMakers::add_nodes() {
  const RangeTable& ranges = timeline_.ranges;
  const std::map<Group, Votes> votes = count_votes();
  std::sort(nodes_.begin(), nodes_.end(), [&](const Node& a, const Node& b) {
    return std::tie(ranges.thread[a.range], ranges.begin_ns[a.range], ranges.end_ns[b.range], a.range) <
           std::tie(ranges.thread[b.range], ranges.begin_ns[b.range], ranges.end_ns[a.range], b.range);
  });
  AutogradNodeTable& table = timeline_.autograd_nodes;
  for (const Node& node : nodes_) {
    Made made;
    if (node.is_known) {
      made = known_making_of(node);
      // Other inputs have a range around each node in which the engine adds up gradients.
      ThreadInfo& thread = timeline_.threads[ranges.thread[node.range]];
      thread.is_engine = is_engine_thread(thread.name);
    } else if (node.sequence >= 0) {
      if (const Operator* maker = maker_of(node, votes.at(group_of(node))))
        made = {ranges.thread[maker->range], ranges.begin_ns[maker->range]};
    }
    table.append({.thread = ranges.thread[node.range],
                  .begin_ns = ranges.begin_ns[node.range],
                  .end_ns = ranges.end_ns[node.range],
                  .sequence = node.sequence,
                  .forward_thread = made.on,
                  .forward_ns = made.ns,
                  .name = ranges.name[node.range],
                  .range = node.range});
  }
}

}  // namespace rangefinder::timeline
