// SPDX-License-Identifier: MIT
#include "analysis/pipeline_chains.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace rangefinder::analysis {
namespace {

using Edges = std::set<std::pair<std::int64_t, std::int64_t>>;  // from, to

Edges edges_of(const PipelineMessages& messages, const std::set<std::int64_t>* among,
               std::optional<ProcessGroupIndex> group) {
  Edges edges;
  for (const std::vector<PipelineMessage>& of_process : messages.by_process)
    for (const PipelineMessage& message : of_process) {
      if (group && *group != message.group) continue;
      if (among != nullptr && !among->contains(message.rank)) continue;
      edges.insert(message.is_send ? std::pair(message.rank, message.peer) : std::pair(message.peer, message.rank));
    }
  return edges;
}

/// Ranks that are connected, by messages either way.
std::vector<std::set<std::int64_t>> components(const std::map<std::int64_t, std::set<std::int64_t>>& neighbours) {
  std::vector<std::set<std::int64_t>> all;
  std::set<std::int64_t> seen;
  for (const auto& [rank, unused] : neighbours) {
    if (!seen.insert(rank).second) continue;
    std::set<std::int64_t>& component = all.emplace_back();
    for (std::vector<std::int64_t> open{rank}; !open.empty();) {
      const std::int64_t at = open.back();
      open.pop_back();
      component.insert(at);
      for (const std::int64_t next : neighbours.at(at))
        if (seen.insert(next).second) open.push_back(next);
    }
  }
  return all;
}

class ChainFinder {
 public:
  ChainFinder(const PipelineMessages& messages, std::vector<RefusedPipeline>& refused)
      : messages_(messages), refused_(refused) {}

  std::vector<PipelineChain> run() {
    add_chains(nullptr, std::nullopt);
    std::stable_sort(chains_.begin(), chains_.end(),
                     [](const PipelineChain& a, const PipelineChain& b) { return a.ranks.front() < b.ranks.front(); });
    return std::move(chains_);
  }

 private:
  void add_chains(const std::set<std::int64_t>* among, std::optional<ProcessGroupIndex> group) {
    const Edges edges = edges_of(messages_, among, group);
    std::map<std::int64_t, std::set<std::int64_t>> neighbours;
    for (const auto& [from, to] : edges) {
      neighbours[from].insert(to);
      neighbours[to].insert(from);
    }
    for (const std::set<std::int64_t>& component : components(neighbours)) {
      if (std::optional<PipelineChain> chain = path_of(component, neighbours)) {
        chain->group = group;
        add_if_directed(std::move(*chain), edges);
      } else if (!group && groups_of(component).size() > 1) {
        // Beside the pipeline, other groups of the same ranks may send around in rings.
        for (const ProcessGroupIndex one : groups_of(component)) add_chains(&component, one);
      } else {
        refuse(component, "they send to each other in a ring or in branches, not along a chain");
      }
    }
  }

  std::set<ProcessGroupIndex> groups_of(const std::set<std::int64_t>& component) const {
    std::set<ProcessGroupIndex> groups;
    for (const std::vector<PipelineMessage>& of_process : messages_.by_process)
      for (const PipelineMessage& message : of_process)
        if (component.contains(message.rank)) groups.insert(message.group);
    return groups;
  }

  /// From one end to the other; nothing where that is no path.
  static std::optional<PipelineChain> path_of(const std::set<std::int64_t>& component,
                                              const std::map<std::int64_t, std::set<std::int64_t>>& neighbours) {
    std::optional<std::int64_t> end;
    for (const std::int64_t rank : component) {
      if (neighbours.at(rank).size() > 2) return std::nullopt;
      if (neighbours.at(rank).size() == 1 && !end) end = rank;
    }
    if (!end) return std::nullopt;
    PipelineChain chain;
    for (std::optional<std::int64_t> at = end, before; at;) {
      chain.ranks.push_back(*at);
      std::optional<std::int64_t> next;
      for (const std::int64_t rank : neighbours.at(*at))
        if (rank != before) next = rank;
      before = std::exchange(at, next);
    }
    return chain;
  }

  void add_if_directed(PipelineChain chain, const Edges& edges) {
    std::vector<std::int64_t>& ranks = chain.ranks;
    bool up = false, down = false;
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      up = up || edges.contains({ranks[i - 1], ranks[i]});
      down = down || edges.contains({ranks[i], ranks[i - 1]});
    }
    chain.goes_back = up && down;
    // Nothing goes back: the messages themselves are the direction.
    int direction = up ? 1 : -1;
    if (chain.goes_back) {
      const auto [front_sends, front_receives] = first_messages(ranks.front(), chain);
      const auto [back_sends, back_receives] = first_messages(ranks.back(), chain);
      if (front_sends > front_receives && back_sends > back_receives)
        return refuse({ranks.begin(), ranks.end()},
                      "both ends send before they receive: they exchange, and no end is first");
      direction = front_sends - front_receives + back_receives - back_sends;
      chain.order_assumed = direction == 0;
      if (direction == 0) direction = ranks.front() < ranks.back() ? 1 : -1;
    }
    if (direction < 0) std::reverse(ranks.begin(), ranks.end());
    chains_.push_back(std::move(chain));
  }

  /// In how many steps the first message of an end was a send, and in how many a receive.
  std::pair<int, int> first_messages(std::int64_t rank, const PipelineChain& chain) const {
    std::set<std::int64_t> steps;
    std::pair<int, int> counts{0, 0};
    for (const std::vector<PipelineMessage>& of_process : messages_.by_process) {
      if (of_process.empty() || of_process.front().rank != rank) continue;  // all of a process are of one rank
      for (const PipelineMessage& message : of_process)
        if (chain.has(message) && steps.insert(message.step).second) ++(message.is_send ? counts.first : counts.second);
    }
    return counts;
  }

  void refuse(const std::set<std::int64_t>& ranks, std::string reason) {
    refused_.push_back({{ranks.begin(), ranks.end()}, std::move(reason)});
  }

  const PipelineMessages& messages_;
  std::vector<RefusedPipeline>& refused_;
  std::vector<PipelineChain> chains_;
};

}  // namespace

std::vector<PipelineChain> pipeline_chains(const PipelineMessages& messages, std::vector<RefusedPipeline>& refused) {
  return ChainFinder(messages, refused).run();
}

}  // namespace rangefinder::analysis
