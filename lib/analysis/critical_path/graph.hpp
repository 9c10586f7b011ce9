// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/device_states.hpp"

#include <rangefinder/analysis/critical_path.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

// The graph whose longest path is the critical path. Nodes are stretches of time of threads and activities, edges say
// what a node begins after.
namespace rangefinder::analysis::critical_path {

using NodeIndex = std::uint32_t;

/// Times come from files; sums of two of these are numbers.
inline std::int64_t clamped(std::int64_t time_ns) noexcept { return std::clamp(time_ns, -kFarthestNs, kFarthestNs); }

enum class NodeKind : std::uint8_t {
  kHost,      ///< a thread did something
  kWait,      ///< a thread stood still until something else was done: takes no time of its own
  kActivity,  ///< device work; of a matched collective, its wait for the other ranks, which takes no time of its own
  kTransfer,  ///< the part of a matched collective after the last rank came
  kJoin,      ///< where several things must be done; takes no time
};

/// Why a node begins no earlier. kLane is not stored: nodes of a thread follow each other.
enum class EdgeKind : std::uint8_t {
  kLane,
  kStream,    ///< work of a stream runs in order
  kLaunch,    ///< a call launched the activity
  kGraph,     ///< within a CUDA graph, and from its parts to what comes after it
  kTogether,  ///< a collective's parts to the place where all ranks have come
  kEvent,     ///< the stream was told to wait for an event
  kRelease,   ///< a call waits for work of a device
  kHandOver,  ///< a thread of autograd begins when backward() is called
  kHandBack,  ///< backward() returns when threads of autograd are done
  kOrigin,    ///< nothing is known that it begins after: it begins when it did
};

/// Something else is waited for, and without it the node could begin.
constexpr bool is_wait(EdgeKind kind) noexcept {
  return kind == EdgeKind::kEvent || kind == EdgeKind::kRelease || kind == EdgeKind::kHandBack ||
         kind == EdgeKind::kTogether;
}

struct Edge {
  std::int64_t lag_ns = 0;  ///< how long after the end (begin) of `from` at the earliest
  NodeIndex from = kNone;   ///< kNone: the begin of the recording
  EdgeKind kind = EdgeKind::kOrigin;
  CriticalReason reason = CriticalReason::kUnknown;  ///< of the lag
  bool from_begin = false;
};

/// What was open on a thread.
struct HostContext {
  CallIndex call = kNone;
  RangeIndex range = kNone;
  RangeIndex op = kNone;
};

/// A place in the graph: a node, or (`at_begin`) where it begins.
struct Point {
  NodeIndex node = kNone;
  bool at_begin = false;
};

/// By activity: the node that ends when it is done, where that is not its own.
using DoneNodes = std::vector<std::pair<ActivityIndex, NodeIndex>>;

struct Graph {
  const Timeline* timeline = nullptr;
  std::int64_t origin_ns = 0;  ///< the first time of all nodes

  // By node: threads' nodes, by thread and time; then the activities, by row; then transfers and joins.
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
  std::vector<NodeKind> kind;
  std::vector<CriticalReason> reason;
  std::vector<std::uint32_t> subject;  ///< of threads' nodes a row of `contexts`; of others an activity, or kNone

  std::vector<NodeIndex> lane;        ///< by thread: its first node; one more at the end
  std::vector<HostContext> contexts;  ///< the first: nothing is open
  NodeIndex first_activity = 0;
  DoneNodes done;  ///< in order

  std::vector<std::uint32_t> first_edge;  ///< by node; one more at the end
  std::vector<Edge> edges;
  std::vector<NodeIndex> order;               ///< what a node begins after comes before it
  std::vector<std::uint32_t> owner;           ///< by activity, as Projection has it
  std::vector<std::uint32_t> launch_context;  ///< by activity: what was open where it was launched; 0: not known

  NodeIndex size() const noexcept { return static_cast<NodeIndex>(begin_ns.size()); }
  bool is_host(NodeIndex node) const noexcept { return node < first_activity; }
  NodeIndex node_of(ActivityIndex activity) const noexcept { return first_activity + activity; }
  bool is_elastic(NodeIndex node) const noexcept { return kind[node] == NodeKind::kWait; }
  /// In a full launch queue. The thread goes on with the next node.
  bool waits_for_room(NodeIndex node) const noexcept {
    return is_elastic(node) && reason[node] == CriticalReason::kLaunchQueue;
  }
  bool follows_in_lane(NodeIndex node) const noexcept;
  ThreadIndex thread_of(NodeIndex node) const noexcept;
  std::span<const Edge> edges_of(NodeIndex node) const noexcept {
    return {edges.data() + first_edge[node], first_edge[node + 1] - first_edge[node]};
  }
  std::int64_t time_of(const Edge& edge) const noexcept {
    if (edge.from == kNone) return origin_ns;
    return edge.from_begin ? begin_ns[edge.from] : end_ns[edge.from];
  }
  /// What a thread does at a time: the node that begins then, or the one around it; of times behind its last node, the
  /// end of that one. node kNone: the thread has no nodes.
  Point point_at(ThreadIndex thread, std::int64_t time_ns, NodeIndex* near = nullptr) const noexcept;
  /// The last node of the thread that begins before that time; kNone without one. `near`, where given, is a node not
  /// far from it, or none; it becomes the one that was found.
  NodeIndex last_before(ThreadIndex thread, std::int64_t time_ns, NodeIndex* near = nullptr) const noexcept;
  NodeIndex done_node(ActivityIndex activity) const noexcept;
  /// From now on; of an activity that has such a node already, instead of it.
  void set_done(const DoneNodes& nodes);
  NodeIndex add(NodeKind node_kind, CriticalReason why, std::uint32_t about, std::int64_t begin, std::int64_t end);

  /// A node, and the delay in front of its begin, as users see them.
  CriticalSegment segment_of(NodeIndex node) const;
  CriticalSegment segment_of(NodeIndex to, const Edge& edge) const;
  std::uint64_t memory_bytes() const noexcept;
};

/// Edges while they are found; `put_into` gives each node its own.
class EdgeList {
 public:
  void add(NodeIndex to, Point from, EdgeKind kind) {
    if (from.node != kNone && from.node != to) rows_.push_back({to, from.node, kind, from.at_begin});
  }
  void add_origin(NodeIndex to) { rows_.push_back({to, kNone, EdgeKind::kOrigin, false}); }
  void put_into(Graph& graph);

 private:
  struct Row {
    NodeIndex to;
    NodeIndex from;
    EdgeKind kind;
    bool from_begin;
  };
  std::vector<Row> rows_;
};

/// Of launches that are known, when the call began; kNoTime for others.
inline std::int64_t launch_ns(const Timeline& timeline, ActivityIndex activity) noexcept {
  const LaunchIndex launch = timeline.activities.launch[activity];
  return launch < timeline.launches.size() ? clamped(timeline.launches.time_ns[launch]) : kNoTime;
}
inline std::int64_t begin_of(const Timeline& timeline, ActivityIndex activity) noexcept {
  return clamped(timeline.activities.begin_ns[activity]);
}
inline std::int64_t end_of(const Timeline& timeline, ActivityIndex activity) noexcept {
  return std::max(begin_of(timeline, activity), clamped(timeline.activities.end_ns[activity]));
}
inline ProcessIndex process_of(const Timeline& timeline, ActivityIndex activity) noexcept {
  return timeline.devices[timeline.streams[timeline.activities.stream[activity]].device].process;
}

}  // namespace rangefinder::analysis::critical_path
