// SPDX-License-Identifier: MIT
#include "analysis/critical_path/graph.hpp"

#include <utility>

namespace rangefinder::analysis::critical_path {

bool Graph::follows_in_lane(NodeIndex node) const noexcept { return is_host(node) && lane[thread_of(node)] != node; }

ThreadIndex Graph::thread_of(NodeIndex node) const noexcept {
  return ThreadIndex(std::upper_bound(lane.begin(), lane.end(), node) - lane.begin() - 1);
}

NodeIndex Graph::last_before(ThreadIndex thread, std::int64_t time_ns, NodeIndex* near) const noexcept {
  if (thread + std::size_t{1} >= lane.size()) return kNone;
  std::size_t first = lane[thread], last = lane[thread + std::size_t{1}];
  if (near != nullptr && *near >= first && *near < last && begin_ns[*near] < time_ns) {
    // Steps that double, so that what is near is found in few.
    first = *near;
    for (std::size_t step = 1; first + step < last; step *= 2) {
      if (begin_ns[first + step] >= time_ns) {
        last = first + step;
        break;
      }
      first += step;
    }
  }
  const auto at = [this](std::size_t node) { return begin_ns.begin() + static_cast<std::ptrdiff_t>(node); };
  const auto after = std::lower_bound(at(first), at(last), time_ns);
  if (after == at(lane[thread])) return kNone;
  const auto found = static_cast<NodeIndex>(after - begin_ns.begin() - 1);
  if (near != nullptr) *near = found;
  return found;
}

Point Graph::point_at(ThreadIndex thread, std::int64_t time_ns, NodeIndex* near) const noexcept {
  if (thread + std::size_t{1} >= lane.size() || lane[thread] == lane[thread + 1]) return {};
  const NodeIndex before = last_before(thread, time_ns, near);
  const NodeIndex next = before == kNone ? lane[thread] : before + 1;
  // Inside a wait, what is done there was asked for when it began.
  if (before != kNone && time_ns < end_ns[before]) return {before, true};
  return next < lane[thread + 1] ? Point{next, true} : Point{before, false};
}

NodeIndex Graph::done_node(ActivityIndex activity) const noexcept {
  const auto found = std::lower_bound(done.begin(), done.end(), std::pair(activity, NodeIndex{0}));
  return found != done.end() && found->first == activity ? found->second : node_of(activity);
}

void Graph::set_done(const DoneNodes& nodes) {
  done.insert(done.begin(), nodes.begin(), nodes.end());
  std::stable_sort(done.begin(), done.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  done.erase(std::unique(done.begin(), done.end(), same), done.end());
}

NodeIndex Graph::add(NodeKind node_kind, CriticalReason why, std::uint32_t about, std::int64_t begin,
                     std::int64_t end) {
  begin_ns.push_back(begin);
  end_ns.push_back(end);
  kind.push_back(node_kind);
  reason.push_back(why);
  subject.push_back(about);
  return size() - 1;
}

CriticalSegment Graph::segment_of(NodeIndex node) const {
  CriticalSegment segment;
  segment.reason = reason[node];
  segment.begin_ns = begin_ns[node];
  segment.end_ns = end_ns[node];
  if (is_host(node)) {
    const HostContext& context = contexts[subject[node]];
    segment.thread = thread_of(node);
    segment.call = context.call;
    segment.range = context.range;
    segment.op = context.op;
    return segment;
  }
  if (subject[node] >= timeline->activities.size()) return segment;  // a collective on the host
  segment.activity = ActivityIndex(subject[node]);
  if (const std::uint32_t range = owner[segment.activity]; range < timeline->ranges.size())
    segment.range = RangeIndex(range);
  const LaunchIndex launch = timeline->activities.launch[segment.activity];
  if (launch >= timeline->launches.size()) return segment;
  segment.call = timeline->launches.call[launch];
  segment.op = contexts[launch_context[segment.activity]].op;
  return segment;
}

CriticalSegment Graph::segment_of(NodeIndex to, const Edge& edge) const {
  CriticalSegment segment = segment_of(to);
  segment.reason = edge.reason;
  segment.is_wait = critical_path::is_wait(edge.kind);
  segment.end_ns = begin_ns[to];
  segment.begin_ns = begin_ns[to] - std::max<std::int64_t>(edge.lag_ns, 0);
  if (edge.kind == EdgeKind::kLaunch && edge.from != kNone && is_host(edge.from)) segment.thread = thread_of(edge.from);
  if (edge.kind == EdgeKind::kRelease || edge.kind == EdgeKind::kHandBack) {
    const bool waited = to != 0 && kind[to - 1] == NodeKind::kWait;
    segment.begin_ns = waited ? begin_ns[to - 1] : begin_ns[to];
    if (waited) {
      const HostContext& context = contexts[subject[to - 1]];
      segment.call = context.call;
      segment.range = context.range;
      segment.op = context.op;
    }
  }
  return segment;
}

std::uint64_t Graph::memory_bytes() const noexcept {
  const std::uint64_t by_node = 2 * sizeof(std::int64_t) + sizeof(NodeKind) + sizeof(CriticalReason) +
                                3 * sizeof(std::uint32_t);  // with first_edge and order
  return size() * by_node + edges.size() * sizeof(Edge) + contexts.size() * sizeof(HostContext) +
         2 * owner.size() * sizeof(std::uint32_t) + done.size() * sizeof(done.front());
}

void EdgeList::put_into(Graph& graph) {
  graph.first_edge.assign(graph.size() + std::size_t{1}, 0);
  for (const Row& row : rows_) ++graph.first_edge[row.to + std::size_t{1}];
  for (std::size_t node = 1; node < graph.first_edge.size(); ++node)
    graph.first_edge[node] += graph.first_edge[node - 1];
  graph.edges.resize(rows_.size());
  std::vector<std::uint32_t> next(graph.first_edge.begin(), graph.first_edge.end() - 1);
  for (const Row& row : rows_)
    graph.edges[next[row.to]++] = {.from = row.from, .kind = row.kind, .from_begin = row.from_begin};
  rows_ = {};
}

}  // namespace rangefinder::analysis::critical_path
