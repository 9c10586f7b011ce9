// SPDX-License-Identifier: MIT
#include "analysis/critical_path/path_walk.hpp"

#include <algorithm>
#include <cstddef>

namespace rangefinder::analysis::critical_path {
namespace {

class Walk {
 public:
  Walk(const Graph& graph, const Times& times, const CriticalWindow& window, const CriticalScale& scale)
      : graph_(graph), times_(times), scale_(scale) {
    first_ns_ = latest_of(graph, times, window.begins, scale ? graph.origin_ns : window.begin_ns);
    const CriticalAnchor* last = nullptr;
    for (const CriticalAnchor& anchor : window.ends) {
      if (anchor.node >= graph.size()) continue;
      const std::int64_t time = time_of(graph, times, anchor);
      if (last != nullptr && time <= now_ns_) continue;
      last = &anchor;
      now_ns_ = time;
    }
    if (last != nullptr) node_ = last->node;
  }

  std::vector<CriticalSegment> run() {
    bool at_begin = false;
    while (node_ != kNone && now_ns_ > first_ns_) {
      if (!at_begin && times_.begin_ns[node_] < now_ns_ && !graph_.is_elastic(node_))
        emit(graph_.segment_of(node_), times_.begin_ns[node_]);
      now_ns_ = std::min(now_ns_, times_.begin_ns[node_]);
      at_begin = step_back();
    }
    // What came before is not in the graph.
    if (now_ns_ > first_ns_ && !path_.empty()) emit(CriticalSegment{}, first_ns_);
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

 private:
  /// The part of a segment from `begin_ns` until now, as far as it is in the window.
  void emit(CriticalSegment segment, std::int64_t begin_ns) {
    begin_ns = std::max(begin_ns, first_ns_);
    if (begin_ns >= now_ns_) return;
    if (!scale_) {  // with another schedule segments keep their recorded times
      segment.begin_ns = begin_ns;
      segment.end_ns = now_ns_;
    }
    segment.is_wait = false;
    path_.push_back(segment);
  }

  /// To what the node waited for last, of several that which is behind a delay that was seen. Whether to go on from
  /// the begin of that node instead of its end.
  bool step_back() {
    std::int64_t base = graph_.origin_ns;
    NodeIndex next = kNone;
    const Edge* by = nullptr;
    std::int64_t latest = -kFarthestNs - 1;
    if (graph_.follows_in_lane(node_)) {
      next = node_ - 1;
      latest = times_.end_ns[next];
      base = std::max(base, latest);
    }
    const auto consider = [&](const Edge& edge) {
      const std::int64_t time = time_by(graph_, times_, node_, edge, base, scale_);
      const bool later = time > latest || (time == latest && by == nullptr && next != kNone && graph_.is_elastic(next));
      if (!later) return;
      latest = time;
      by = &edge;
    };
    for (const Edge& edge : graph_.edges_of(node_))
      if (!is_wait(edge.kind)) consider(edge);
    base = std::max(base, latest);
    for (const Edge& edge : graph_.edges_of(node_))
      if (is_wait(edge.kind)) consider(edge);
    if (by == nullptr) return node_ = next, false;
    const bool from_begin = by->from_begin;
    std::int64_t from = graph_.origin_ns;
    if (by->from != kNone) from = from_begin ? times_.begin_ns[by->from] : times_.end_ns[by->from];
    emit(graph_.segment_of(node_, *by), from);
    now_ns_ = std::min(now_ns_, from);
    node_ = by->from;
    return from_begin;
  }

  const Graph& graph_;
  const Times& times_;
  const CriticalScale& scale_;
  std::int64_t first_ns_ = 0;
  std::int64_t now_ns_ = 0;
  NodeIndex node_ = kNone;
  std::vector<CriticalSegment> path_;
};

}  // namespace

std::int64_t time_of(const Graph& graph, const Times& times, const CriticalAnchor& anchor) {
  if (anchor.node >= graph.size()) return graph.origin_ns;
  const std::int64_t recorded = graph.end_ns[anchor.node] - graph.begin_ns[anchor.node];
  const std::int64_t now = times.end_ns[anchor.node] - times.begin_ns[anchor.node];
  const std::int64_t offset = std::clamp<std::int64_t>(anchor.offset_ns, 0, recorded);
  if (now == recorded) return times.begin_ns[anchor.node] + offset;
  const double share = recorded == 0 ? 0 : static_cast<double>(offset) / static_cast<double>(recorded);
  return times.begin_ns[anchor.node] + (offset == recorded ? now : scaled(now, share));
}

std::int64_t latest_of(const Graph& graph, const Times& times, const std::vector<CriticalAnchor>& anchors,
                       std::int64_t none) {
  if (anchors.empty()) return none;
  std::int64_t latest = -kFarthestNs;
  for (const CriticalAnchor& anchor : anchors) latest = std::max(latest, time_of(graph, times, anchor));
  return latest;
}

std::vector<CriticalSegment> walk_back(const Graph& graph, const Times& times, const CriticalWindow& window,
                                       const CriticalScale& scale) {
  return Walk(graph, times, window, scale).run();
}

}  // namespace rangefinder::analysis::critical_path
