// SPDX-License-Identifier: MIT
#include "analysis/critical_path/graph_launches.hpp"

#include "projection/flat_map.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rangefinder::analysis::critical_path {
namespace {

/// Nodes of a graph on one stream follow each other within 1 to 2 us; a longer gap means that one waits for another
/// stream.
constexpr std::int64_t kNodeGapNs = 3'000;

/// Activities of launches that use several streams, by launch and begin.
std::vector<ActivityIndex> work_on_several_streams(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  std::vector<StreamIndex> stream(timeline.launches.size(), kNone);
  std::vector<bool> several(timeline.launches.size());
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    const LaunchIndex launch = activities.launch[row];
    if (launch >= stream.size()) continue;
    if (stream[launch] != kNone && stream[launch] != activities.stream[row]) several[launch] = true;
    stream[launch] = activities.stream[row];
  }
  std::vector<ActivityIndex> work;
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    if (const LaunchIndex launch = activities.launch[row]; launch < several.size() && several[launch])
      work.push_back(row);
  std::stable_sort(work.begin(), work.end(), [&](ActivityIndex a, ActivityIndex b) {
    return std::pair(activities.launch[a], begin_of(timeline, a)) <
           std::pair(activities.launch[b], begin_of(timeline, b));
  });
  return work;
}

/// The activity in front of `row` on its stream; kNone without one.
ActivityIndex before_on_stream(const Timeline& timeline, const StreamLanes& lanes, ActivityIndex row) {
  const std::span<const ActivityIndex> lane = lanes.of(timeline.activities.stream[row]);
  const auto at = std::lower_bound(lane.begin(), lane.end(), row, [&](ActivityIndex a, ActivityIndex b) {
    return std::pair(begin_of(timeline, a), std::uint32_t{a}) < std::pair(begin_of(timeline, b), std::uint32_t{b});
  });
  return at == lane.begin() ? ActivityIndex{kNone} : *(at - 1);
}

/// The first activity behind `row` on its stream that is of another launch; kNone without one.
ActivityIndex after_launch(const Timeline& timeline, const StreamLanes& lanes, ActivityIndex row) {
  const std::span<const ActivityIndex> lane = lanes.of(timeline.activities.stream[row]);
  auto at = std::lower_bound(lane.begin(), lane.end(), row, [&](ActivityIndex a, ActivityIndex b) {
    return std::pair(begin_of(timeline, a), std::uint32_t{a}) < std::pair(begin_of(timeline, b), std::uint32_t{b});
  });
  const LaunchIndex launch = timeline.activities.launch[row];
  while (at != lane.end() && timeline.activities.launch[*at] == launch) ++at;
  return at == lane.end() ? ActivityIndex{kNone} : *at;
}

/// What each activity of the launch, in order of begin, begins after.
void add_starts(const Graph& graph, const StreamLanes& lanes, std::span<const ActivityIndex> work,
                std::span<const ActivityIndex> by_end, EdgeList& edges) {
  const Timeline& timeline = *graph.timeline;
  const StreamIndex home = timeline.activities.stream[work.front()];
  const ActivityIndex in_front = before_on_stream(timeline, lanes, work.front());
  projection::FlatMap ended;  // by stream: its activity of this launch that ended last
  ActivityIndex latest = kNone;
  std::size_t next = 0;
  for (const ActivityIndex row : work) {
    const std::int64_t begin = begin_of(timeline, row);
    for (; next < by_end.size() && end_of(timeline, by_end[next]) <= begin && by_end[next] != row; ++next) {
      latest = by_end[next];
      ended.set(timeline.activities.stream[latest], latest);
    }
    const StreamIndex stream = timeline.activities.stream[row];
    const std::uint32_t own = ended.find(stream);
    const NodeIndex node = graph.node_of(row);
    if (own == projection::FlatMap::kAbsent) {
      if (latest != kNone)
        edges.add(node, {graph.done_node(latest), false}, EdgeKind::kGraph);
      else if (stream != home && in_front != kNone)
        edges.add(node, {graph.done_node(in_front), false}, EdgeKind::kGraph);
    } else if (latest != own && begin - end_of(timeline, ActivityIndex(own)) > kNodeGapNs) {
      edges.add(node, {graph.done_node(latest), false}, EdgeKind::kGraph);
    }
  }
}

/// Activities of one launch in order of their end.
std::vector<ActivityIndex> in_order_of_end(const Timeline& timeline, std::span<const ActivityIndex> work) {
  std::vector<ActivityIndex> by_end(work.begin(), work.end());
  std::sort(by_end.begin(), by_end.end(), [&](ActivityIndex a, ActivityIndex b) {
    return std::pair(end_of(timeline, a), std::uint32_t{a}) < std::pair(end_of(timeline, b), std::uint32_t{b});
  });
  return by_end;
}

/// Calls `use(work)` for the activities of each launch that uses several streams, in order of begin.
template <typename Use>
void for_each_launch(const Timeline& timeline, Use use) {
  const std::vector<ActivityIndex> work = work_on_several_streams(timeline);
  for (std::size_t first = 0; first < work.size();) {
    std::size_t last = first + 1;
    while (last < work.size() && timeline.activities.launch[work[last]] == timeline.activities.launch[work[first]])
      ++last;
    use(std::span<const ActivityIndex>(work.data() + first, last - first));
    first = last;
  }
}

/// The last activity on the stream that the graph was launched on; kNone where that stream went on before all was done,
/// so that it is another one.
ActivityIndex last_at_home(const Timeline& timeline, const StreamLanes& lanes, std::span<const ActivityIndex> work,
                           std::span<const ActivityIndex> by_end) {
  ActivityIndex home_last = kNone;
  for (const ActivityIndex row : by_end)
    if (timeline.activities.stream[row] == timeline.activities.stream[work.front()]) home_last = row;
  const ActivityIndex next = after_launch(timeline, lanes, home_last);
  return next != kNone && begin_of(timeline, next) < end_of(timeline, by_end.back()) ? ActivityIndex{kNone} : home_last;
}

/// The node at which all of the launch is done; the stream that it was launched on goes on from there.
void add_end(Graph& graph, const StreamLanes& lanes, std::span<const ActivityIndex> work,
             std::span<const ActivityIndex> by_end, EdgeList& edges, DoneNodes& joins) {
  const Timeline& timeline = *graph.timeline;
  const ActivityIndex home_last = last_at_home(timeline, lanes, work, by_end);
  if (home_last == kNone) return;
  projection::FlatMap last;  // by stream
  for (const ActivityIndex row : by_end) last.set(timeline.activities.stream[row], row);
  const std::int64_t end = end_of(timeline, by_end.back());
  const NodeIndex join = graph.add(NodeKind::kJoin, CriticalReason::kComputation, by_end.back(), end, end);
  last.for_each([&](std::uint64_t, std::uint32_t row) {
    edges.add(join, {graph.done_node(ActivityIndex(row)), false}, EdgeKind::kGraph);
  });
  joins.emplace_back(home_last, join);
}

}  // namespace

std::vector<std::pair<ActivityIndex, std::int64_t>> ends_of_graph_launches(const Timeline& timeline,
                                                                           const StreamLanes& lanes) {
  std::vector<std::pair<ActivityIndex, std::int64_t>> ends;
  for_each_launch(timeline, [&](std::span<const ActivityIndex> work) {
    const std::vector<ActivityIndex> by_end = in_order_of_end(timeline, work);
    const ActivityIndex home_last = last_at_home(timeline, lanes, work, by_end);
    if (home_last != kNone) ends.emplace_back(home_last, end_of(timeline, by_end.back()));
  });
  std::sort(ends.begin(), ends.end());
  return ends;
}

void add_graph_launches(Graph& graph, const StreamLanes& lanes, EdgeList& edges) {
  DoneNodes joins;
  for_each_launch(*graph.timeline, [&](std::span<const ActivityIndex> work) {
    const std::vector<ActivityIndex> by_end = in_order_of_end(*graph.timeline, work);
    add_starts(graph, lanes, work, by_end, edges);
    add_end(graph, lanes, work, by_end, edges, joins);
  });
  graph.set_done(joins);
}

}  // namespace rangefinder::analysis::critical_path
