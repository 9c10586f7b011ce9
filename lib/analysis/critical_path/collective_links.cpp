// SPDX-License-Identifier: MIT
#include "analysis/critical_path/collective_links.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rangefinder::analysis::critical_path {
namespace {

constexpr std::uint32_t kSeveral = 0xFFFFFFFEu;

/// By collective: its one activity; kNone without one, kSeveral where there are several.
std::vector<std::uint32_t> activities_of_collectives(const Timeline& timeline) {
  std::vector<std::uint32_t> of(timeline.collectives.size(), kNone);
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    if (const CollectiveIndex collective = activities.collective[row]; collective < of.size())
      of[collective] = of[collective] == kNone ? std::uint32_t{row} : kSeveral;
  return of;
}

void link(Graph& graph, EdgeList& edges, const std::vector<ActivityIndex>& parts, DoneNodes& done) {
  std::int64_t last_begin = -kFarthestNs, first_end = kFarthestNs;
  ActivityIndex last = parts.front();
  for (const ActivityIndex part : parts) {
    const std::int64_t begin = begin_of(*graph.timeline, part);
    if (begin > last_begin) last = part;
    last_begin = std::max(last_begin, begin);
    first_end = std::min(first_end, end_of(*graph.timeline, part));
  }
  if (first_end < last_begin)
    return;  // one was done before the last one came: the clocks are off, or it waits for less
  const NodeIndex together = graph.add(NodeKind::kJoin, CriticalReason::kCommunication, last, last_begin, last_begin);
  for (const ActivityIndex part : parts) {
    const NodeIndex wait = graph.node_of(part);
    const NodeIndex transfer =
        graph.add(NodeKind::kTransfer, CriticalReason::kCommunication, part, last_begin, graph.end_ns[wait]);
    graph.kind[wait] = NodeKind::kWait;
    graph.end_ns[wait] = last_begin;
    edges.add(together, {wait, true}, EdgeKind::kGraph);
    edges.add(transfer, {wait, true}, EdgeKind::kGraph);
    edges.add(transfer, {together, false}, EdgeKind::kTogether);
    done.emplace_back(part, transfer);
  }
}

}  // namespace

void add_collective_links(Graph& graph, const MatchedCollectives& matched, EdgeList& edges) {
  const Timeline& timeline = *graph.timeline;
  if (matched.collectives.empty()) return;
  const std::vector<std::uint32_t> activity_of = activities_of_collectives(timeline);
  DoneNodes done;
  std::vector<bool> linked(timeline.activities.size());
  for (const MatchedCollective& one : matched.collectives) {
    std::vector<ActivityIndex> parts;
    bool comparable = one.part_count >= 2;
    for (std::uint32_t i = 0; i < one.part_count && comparable; ++i) {
      const CollectivePart& part = matched.parts[one.first_part + i];
      const std::uint32_t activity = part.collective < activity_of.size() ? activity_of[part.collective] : kNone;
      comparable = part.wait_ns != kNoTime && activity < timeline.activities.size() && !linked[activity];
      if (comparable) parts.emplace_back(activity);
    }
    if (!comparable) continue;
    for (const ActivityIndex part : parts) linked[part] = true;
    link(graph, edges, parts, done);
  }
  graph.set_done(done);
}

}  // namespace rangefinder::analysis::critical_path
