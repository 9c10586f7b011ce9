// SPDX-License-Identifier: MIT
#include "analysis/critical_path/host_collectives.hpp"

#include "analysis/host_states.hpp"

#include <algorithm>
#include <cstddef>

namespace rangefinder::analysis::critical_path {
namespace {

/// By collective: which match it is a part of, where the clocks of its ranks can be compared.
std::vector<std::uint32_t> matches_of(const Timeline& timeline, const MatchedCollectives& matched) {
  std::vector<std::uint32_t> match(timeline.collectives.size(), kNone);
  for (std::uint32_t i = 0; i < matched.collectives.size(); ++i) {
    const MatchedCollective& one = matched.collectives[i];
    for (std::uint32_t at = 0; at < one.part_count; ++at) {
      const CollectivePart& part = matched.parts[one.first_part + at];
      if (part.wait_ns != kNoTime && part.collective < match.size()) match[part.collective] = i;
    }
  }
  return match;
}

/// The thread and the time in which it was waited for: a wait, or else the call itself.
HostWait wait_for(const CollectiveTable& table, CollectiveIndex row) {
  HostWait wait;
  const bool waited = table.wait_thread[row] != kNone && table.wait_begin_ns[row] != kNoTime;
  wait.thread = waited ? table.wait_thread[row] : table.thread[row];
  wait.begin_ns = clamped(waited ? table.wait_begin_ns[row] : table.begin_ns[row]);
  wait.end_ns = clamped(waited ? table.wait_end_ns[row] : table.end_ns[row]);
  return wait;
}

/// No part is done before the last rank has called; where the data say so, the clocks are off, and each is by itself.
void find_last_calls(std::vector<HostCollective>& collectives, std::size_t matches) {
  std::vector<std::int64_t> last(matches, -kFarthestNs), first_done(matches, kFarthestNs);
  for (const HostCollective& one : collectives) {
    if (one.match == kNone) continue;
    last[one.match] = std::max(last[one.match], one.called_ns);
    first_done[one.match] = std::min(first_done[one.match], one.done_ns);
  }
  for (HostCollective& one : collectives) {
    one.all_called_ns = one.called_ns;
    if (one.match == kNone) continue;
    if (first_done[one.match] < last[one.match])
      one.match = kNone;
    else
      one.all_called_ns = last[one.match];
  }
}

}  // namespace

std::vector<HostCollective> find_host_collectives(const Timeline& timeline, const MatchedCollectives& matched,
                                                  std::vector<HostWait>& waits) {
  const CollectiveTable& table = timeline.collectives;
  std::vector<HostCollective> found;
  if (table.size() == 0) return found;
  std::vector<bool> host_only(timeline.processes.size());
  const HostStates states(timeline);
  for (const ProcessIndex process : states.processes()) host_only[process] = true;
  const std::vector<std::uint32_t> match = matches_of(timeline, matched);
  for (CollectiveIndex row{0}; row < table.size(); ++row) {
    if (table.process[row] >= host_only.size() || !host_only[table.process[row]]) continue;
    if (table.thread[row] >= timeline.threads.size() || table.begin_ns[row] == kNoTime) continue;
    HostWait wait = wait_for(table, row);
    const std::int64_t called = clamped(table.begin_ns[row]);
    std::int64_t done = table.completed_ns[row] != kNoTime ? clamped(table.completed_ns[row]) : wait.end_ns;
    const bool waited = wait.thread < timeline.threads.size() && wait.begin_ns < wait.end_ns && called <= wait.begin_ns;
    if (waited) done = std::min(done, wait.end_ns);
    if (done < called) continue;
    if (waited) {
      wait.release_ns = std::max(wait.begin_ns, done);
      wait.collective = static_cast<std::uint32_t>(found.size());
      waits.push_back(wait);
    }
    found.push_back({table.thread[row], called, called, done, match[row]});
  }
  find_last_calls(found, matched.collectives.size());
  return found;
}

std::vector<NodeIndex> add_host_collectives(Graph& graph, const std::vector<HostCollective>& collectives,
                                            EdgeList& edges) {
  std::vector<NodeIndex> nodes;
  std::vector<NodeIndex> together;  // by match
  for (const HostCollective& one : collectives) {
    const Point call = graph.point_at(one.caller, one.called_ns);
    const NodeIndex node =
        graph.add(NodeKind::kTransfer, CriticalReason::kCommunication, kNone, one.all_called_ns, one.done_ns);
    nodes.push_back(node);
    if (call.node == kNone)
      edges.add_origin(node);
    else
      edges.add(node, call, EdgeKind::kGraph);
    if (one.match == kNone) continue;
    if (one.match >= together.size()) together.resize(one.match + std::size_t{1}, kNone);
    NodeIndex& join = together[one.match];
    if (join == kNone)
      join = graph.add(NodeKind::kJoin, CriticalReason::kCommunication, kNone, one.all_called_ns, one.all_called_ns);
    edges.add(join, call, EdgeKind::kGraph);
    edges.add(node, {join, false}, EdgeKind::kTogether);
  }
  return nodes;
}

}  // namespace rangefinder::analysis::critical_path
