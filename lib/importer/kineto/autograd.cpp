// SPDX-License-Identifier: MIT
#include "importer/kineto/autograd.hpp"

#include "timeline/operator_texts.hpp"

#include <algorithm>
#include <tuple>

namespace rangefinder::importer::kineto {
namespace {

// Older traces have this node alone: "struct torch::autograd::AccumulateGrad".
constexpr std::string_view kAccumulate = "torch::autograd::AccumulateGrad";
// Threads that tell the same number are few in any training; a file may claim more.
constexpr std::size_t kMostTellers = 64;

}  // namespace

void Autograd::add(const EventArguments& arguments, std::string_view name) {
  using F = EventArguments;
  const RangeTable& ranges = timeline_.ranges;
  const auto row = static_cast<RangeIndex>(ranges.size() - 1);
  const bool numbered = arguments.has(F::kSequence) && arguments.sequence >= 0 && ranges.begin_ns[row] != kNoTime;
  if (numbered && arguments.has(F::kForwardThread) && arguments.forward_thread != 0) {
    nodes_.push_back({row, arguments.sequence, arguments.forward_thread});
  } else if (numbered) {
    operators_.push_back({0, arguments.sequence, ranges.thread[row], ranges.begin_ns[row]});
  } else if (name.starts_with(timeline::kEvaluate) || name.ends_with(kAccumulate)) {
    nodes_.push_back({row, -1, 0});
  }
}

void Autograd::finish() {
  if (nodes_.empty()) return;
  sort_operators();
  add_nodes(forward_threads());
}

ProcessIndex Autograd::process_of(const Node& node) const {
  return timeline_.threads[timeline_.ranges.thread[node.range]].process;
}

void Autograd::sort_operators() {
  for (Operator& told : operators_) told.process = timeline_.threads[told.thread].process;
  std::sort(operators_.begin(), operators_.end(), [](const Operator& a, const Operator& b) {
    return std::tie(a.process, a.sequence, a.thread, a.begin_ns) <
           std::tie(b.process, b.sequence, b.thread, b.begin_ns);
  });
}

template <typename Use>
void Autograd::for_each_teller(const Node& node, Use use) const {
  const ProcessIndex process = process_of(node);
  const std::int64_t before_ns = timeline_.ranges.begin_ns[node.range];
  const auto is_before = [&](const Operator& told) {
    return std::tie(told.process, told.sequence) < std::tie(process, node.sequence);
  };
  auto next = std::partition_point(operators_.begin(), operators_.end(), is_before);
  for (std::size_t i = 0; i < kMostTellers; ++i) {
    if (next == operators_.end() || next->process != process || next->sequence != node.sequence) return;
    const auto first = next;
    next = std::partition_point(first, operators_.end(), [&](const Operator& told) {
      return std::tie(told.process, told.sequence, told.thread) <=
             std::tie(first->process, first->sequence, first->thread);
    });
    const auto after =
        std::partition_point(first, next, [&](const Operator& told) { return told.begin_ns < before_ns; });
    if (after != first) use(after[-1]);
  }
}

Autograd::ForwardThreads Autograd::forward_threads() const {
  std::map<ForwardThreads::key_type, std::map<ThreadIndex, std::uint64_t>> votes;
  for (const Node& node : nodes_) {
    if (node.sequence < 0) continue;
    auto& of_number = votes[{process_of(node), node.forward_thread}];
    for_each_teller(node, [&](const Operator& told) { ++of_number[told.thread]; });
  }
  ForwardThreads threads;
  for (const auto& [number, of_number] : votes) {
    ThreadIndex best = kNone;
    std::uint64_t most = 0;
    for (const auto& [thread, count] : of_number) {
      if (count == most) best = kNone;
      if (count > most) best = thread;
      most = std::max(most, count);
    }
    threads.emplace(number, best);
  }
  return threads;
}

void Autograd::add_nodes(const ForwardThreads& threads) {
  const RangeTable& ranges = timeline_.ranges;
  std::sort(nodes_.begin(), nodes_.end(), [&](const Node& a, const Node& b) {
    return std::tie(ranges.thread[a.range], ranges.begin_ns[a.range], ranges.end_ns[b.range], a.range) <
           std::tie(ranges.thread[b.range], ranges.begin_ns[b.range], ranges.end_ns[a.range], b.range);
  });
  NodeTable& table = timeline_.nodes;
  for (const Node& node : nodes_) {
    ThreadIndex made_on = kNone;
    std::int64_t made_ns = kNoTime;
    if (node.sequence >= 0) {
      const ThreadIndex thread = threads.at({process_of(node), node.forward_thread});
      for_each_teller(node, [&](const Operator& told) {
        if (told.thread != thread) return;
        made_on = told.thread;
        made_ns = told.begin_ns;
      });
    }
    table.thread.push_back(ranges.thread[node.range]);
    table.begin_ns.push_back(ranges.begin_ns[node.range]);
    table.end_ns.push_back(ranges.end_ns[node.range]);
    table.sequence.push_back(node.sequence);
    table.made_on.push_back(made_on);
    table.made_ns.push_back(made_ns);
  }
}

}  // namespace rangefinder::importer::kineto
