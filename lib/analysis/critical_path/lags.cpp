// SPDX-License-Identifier: MIT
#include "analysis/critical_path/lags.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace rangefinder::analysis::critical_path {
namespace {

class Lags {
 public:
  Lags(Graph& graph, std::int64_t usual_gap_ns) : graph_(graph), usual_gap_ns_(usual_gap_ns) {
    least_of_stream_.assign(graph.timeline->streams.size() * kDelays, kNotSeen);
    least_of_device_.assign(graph.timeline->devices.size() * kDelays, kNotSeen);
  }

  void find() {
    for (NodeIndex node = 0; node < graph_.size(); ++node) note_seen(node);
    for (NodeIndex node = 0; node < graph_.size(); ++node) set(node);
  }

 private:
  static constexpr std::size_t kDelays = 4;  // launches and gaps, of copies and of kernels
  static constexpr std::int64_t kNotSeen = std::numeric_limits<std::int64_t>::max();

  struct Least {
    std::int64_t& of_stream;
    std::int64_t& of_device;
  };
  Least least(NodeIndex node, EdgeKind kind) noexcept {
    const ActivityTable& activities = graph_.timeline->activities;
    const ActivityIndex activity(graph_.subject[node]);
    const bool copies = activities.kind[activity] == ActivityKind::kMemcpy;
    const std::size_t delay = (copies ? 2 : 0) + (kind == EdgeKind::kLaunch ? 1 : 0);
    const StreamIndex stream = activities.stream[activity];
    return {least_of_stream_[stream * kDelays + delay],
            least_of_device_[graph_.timeline->streams[stream].device * kDelays + delay]};
  }
  /// The least delay of that kind that was seen; 0: none was.
  std::int64_t least_lag(NodeIndex node, const Edge& edge) noexcept {
    if (!is_seen_on_streams(edge.kind) || graph_.kind[node] != NodeKind::kActivity) return 0;
    const Least known = least(node, edge.kind);
    const std::int64_t seen = known.of_stream != kNotSeen ? known.of_stream : known.of_device;
    return seen == kNotSeen ? 0 : seen;
  }
  static bool is_seen_on_streams(EdgeKind kind) noexcept {
    return kind == EdgeKind::kLaunch || kind == EdgeKind::kStream || kind == EdgeKind::kGraph;
  }
  std::span<Edge> edges_of(NodeIndex node) noexcept {
    return {graph_.edges.data() + graph_.first_edge[node], graph_.first_edge[node + 1] - graph_.first_edge[node]};
  }

  /// The edge that lets the node begin last, by `time_of(edge)`: what the node waited for. Null where it is the
  /// thread's own time.
  template <typename TimeOf>
  Edge* binding(NodeIndex node, TimeOf time_of) noexcept {
    Edge* last = nullptr;
    for (Edge& edge : edges_of(node))
      if (last == nullptr || time_of(edge) > time_of(*last)) last = &edge;
    const bool follows = graph_.follows_in_lane(node) && !graph_.is_elastic(node - 1);
    return follows ? nullptr : last;
  }

  void note_seen(NodeIndex node) noexcept {
    const Edge* edge = graph_.kind[node] == NodeKind::kActivity
                           ? binding(node, [this](const Edge& one) { return graph_.time_of(one); })
                           : nullptr;
    if (edge == nullptr || !is_seen_on_streams(edge->kind)) return;
    const std::int64_t lag = graph_.begin_ns[node] - graph_.time_of(*edge);
    if (lag < 0) return;
    const Least known = least(node, edge->kind);
    known.of_stream = std::min(known.of_stream, lag);
    known.of_device = std::min(known.of_device, lag);
  }

  void set(NodeIndex node) noexcept {
    // A launch just before the end of the work in front: what decides is which delay is over last.
    Edge* const last =
        binding(node, [this, node](const Edge& one) { return graph_.time_of(one) + least_lag(node, one); });
    // Nothing is known that ended the wait: it takes the time that it took.
    if (last == nullptr && graph_.follows_in_lane(node) && graph_.is_elastic(node - 1))
      graph_.kind[node - 1] = NodeKind::kHost;
    for (Edge& edge : edges_of(node)) {
      const std::int64_t room = graph_.begin_ns[node] - graph_.time_of(edge);
      if (&edge == last || room < 0) {
        edge.lag_ns = room;
      } else {
        edge.lag_ns = std::min(least_lag(node, edge), room);
      }
      edge.reason = reason_of(node, edge);
    }
  }

  /// A call that copies from memory that is not pinned copies it itself first.
  bool began_in_its_call(NodeIndex node) const noexcept {
    const Timeline& timeline = *graph_.timeline;
    const ActivityIndex activity(graph_.subject[node]);
    const CallIndex call = timeline.launches.call[timeline.activities.launch[activity]];
    return call < timeline.calls.size() && graph_.begin_ns[node] < clamped(timeline.calls.end_ns[call]);
  }

  CriticalReason reason_of(NodeIndex node, const Edge& edge) const noexcept {
    const bool usual = edge.lag_ns <= usual_gap_ns_;
    switch (edge.kind) {
      case EdgeKind::kLaunch:
        if (usual) return CriticalReason::kLaunchLatency;
        return began_in_its_call(node) ? CriticalReason::kCall : CriticalReason::kUnknown;
      case EdgeKind::kStream:
      case EdgeKind::kGraph:
      case EdgeKind::kEvent:
        return usual ? CriticalReason::kStreamDelay : CriticalReason::kUnknown;
      case EdgeKind::kTogether:
        return CriticalReason::kCommunication;
      case EdgeKind::kRelease:
        return node != 0 && graph_.waits_for_room(node - 1) ? CriticalReason::kLaunchQueue
                                                            : CriticalReason::kSynchronisation;
      case EdgeKind::kHandOver:
      case EdgeKind::kHandBack:
        return CriticalReason::kThreadWait;
      case EdgeKind::kLane:
        return graph_.reason[node];
      case EdgeKind::kOrigin:
        break;
    }
    return CriticalReason::kUnknown;
  }

  Graph& graph_;
  std::int64_t usual_gap_ns_;
  std::vector<std::int64_t> least_of_stream_;  // by stream and kind of delay
  std::vector<std::int64_t> least_of_device_;
};

}  // namespace

void find_lags(Graph& graph, std::int64_t usual_gap_ns) { Lags(graph, usual_gap_ns).find(); }

}  // namespace rangefinder::analysis::critical_path
