// SPDX-License-Identifier: MIT
#include "analysis/critical_path/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace rangefinder::analysis::critical_path {
namespace {

double factor_of(const CriticalScale& scale, const CriticalSegment& segment) {
  const double by = scale(segment);
  return by > 0 ? by : 0;  // of NaN, too
}

/// Visits what a node begins after before the node.
class Ordering {
 public:
  explicit Ordering(Graph& graph) : graph_(graph), state_(graph.size(), kNew) { graph.order.reserve(graph.size()); }

  void run() {
    for (NodeIndex node = 0; node < graph_.size(); ++node)
      if (state_[node] == kNew) visit(node);
  }

 private:
  enum State : std::uint8_t { kNew, kOpen, kDone };
  struct Visit {
    NodeIndex node;
    std::uint32_t next_edge;
  };

  void open(NodeIndex node) {
    state_[node] = kOpen;
    stack_.push_back({node, graph_.first_edge[node]});
    if (graph_.follows_in_lane(node) && state_[node - 1] == kNew) open_lane_before(node);
  }
  /// The nodes of a thread are a chain: the stack takes all of those that are new at once, outermost last.
  void open_lane_before(NodeIndex node) {
    NodeIndex first = node;
    while (graph_.follows_in_lane(first) && state_[first - 1] == kNew) --first;
    stack_.pop_back();
    for (NodeIndex at = node;; --at) {
      state_[at] = kOpen;
      stack_.push_back({at, graph_.first_edge[at]});
      if (at == first) break;
    }
  }
  void visit(NodeIndex root) {
    open(root);
    while (!stack_.empty()) {
      Visit& top = stack_.back();
      if (top.next_edge == graph_.first_edge[top.node + std::size_t{1}]) {
        state_[top.node] = kDone;
        graph_.order.push_back(top.node);
        stack_.pop_back();
        continue;
      }
      Edge& edge = graph_.edges[top.next_edge++];
      if (edge.from == kNone || state_[edge.from] == kDone) continue;
      if (state_[edge.from] == kOpen)
        edge = Edge{};  // a circle
      else
        open(edge.from);
    }
  }

  Graph& graph_;
  std::vector<State> state_;
  std::vector<Visit> stack_;
};

std::int64_t sum(std::int64_t a, std::int64_t b) noexcept { return clamped(a + b); }

/// Of the schedule, when a node may begin as far as it is known before things are waited for.
std::int64_t base_of(const Graph& graph, const Times& times, NodeIndex node, const CriticalScale& scale) {
  std::int64_t base = graph.origin_ns;
  if (graph.follows_in_lane(node)) base = std::max(base, times.end_ns[node - 1]);
  for (const Edge& edge : graph.edges_of(node))
    if (!is_wait(edge.kind)) base = std::max(base, time_by(graph, times, node, edge, base, scale));
  return base;
}

}  // namespace

std::int64_t scaled(std::int64_t length_ns, double by) noexcept {
  if (by == 1) return length_ns;
  const double length = static_cast<double>(length_ns) * by;
  return length >= static_cast<double>(kFarthestNs) ? kFarthestNs : static_cast<std::int64_t>(std::llround(length));
}

std::int64_t time_by(const Graph& graph, const Times& times, NodeIndex to, const Edge& edge, std::int64_t base_ns,
                     const CriticalScale& scale) {
  std::int64_t from = graph.origin_ns;
  if (edge.from != kNone) from = edge.from_begin ? times.begin_ns[edge.from] : times.end_ns[edge.from];
  const bool wait = is_wait(edge.kind);
  // A negative lag is a difference of clocks.
  if (!scale || (!wait && edge.lag_ns <= 0)) return sum(from, edge.lag_ns);
  const double by = factor_of(scale, graph.segment_of(to, edge));
  if (!wait) return sum(from, scaled(edge.lag_ns, by));
  const std::int64_t until = sum(from, edge.lag_ns);
  return until <= base_ns ? until : sum(base_ns, scaled(until - base_ns, by));
}

void find_order(Graph& graph) { Ordering(graph).run(); }

Schedule schedule_of(const Graph& graph, const CriticalScale& scale) {
  if (!scale) return Schedule(graph);
  std::vector<std::int64_t> begins(graph.size()), ends(graph.size());
  const Times times{begins, ends};
  for (const NodeIndex node : graph.order) {
    const std::int64_t base = base_of(graph, times, node, scale);
    std::int64_t begin = base;
    for (const Edge& edge : graph.edges_of(node))
      if (is_wait(edge.kind)) begin = std::max(begin, time_by(graph, times, node, edge, base, scale));
    const std::int64_t length = graph.is_elastic(node) ? 0 : graph.end_ns[node] - graph.begin_ns[node];
    begins[node] = begin;
    ends[node] = length == 0 ? begin : sum(begin, scaled(length, factor_of(scale, graph.segment_of(node))));
  }
  return {std::move(begins), std::move(ends)};
}

}  // namespace rangefinder::analysis::critical_path
