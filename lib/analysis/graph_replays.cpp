// SPDX-License-Identifier: MIT
#include "analysis/graph_replays.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace rangefinder::analysis {
namespace {

std::uint32_t place_of_capture(const Timeline& timeline, const PathTree& tree, const Projection& by_capture,
                               ActivityIndex activity) {
  const ActivityTable& activities = timeline.activities;
  const LaunchIndex captured = activities.captured[activity];
  if (captured == kNone) {
    const bool whole = activities.kind[activity] == ActivityKind::kGraph && !activities.estimated[activity];
    return static_cast<std::uint32_t>(whole ? NotCaptured::kWhole : NotCaptured::kUnknown);
  }
  const std::uint32_t owner = by_capture.owner[activity];
  const bool owned = by_capture.place_of(timeline, activity) == captured && owner < tree.group_of.size();
  return owned ? tree.group_of[owner] : static_cast<std::uint32_t>(NotCaptured::kOutside);
}

}  // namespace

bool is_graph_work(const Timeline& timeline, ActivityIndex activity) {
  const ActivityTable& activities = timeline.activities;
  if (activities.graph_node[activity] != 0 || activities.graph[activity] != 0) return true;
  const LaunchIndex launch = activities.launch[activity];
  if (launch >= timeline.launches.size()) return false;
  const CallIndex call = timeline.launches.call[launch];
  return call < timeline.calls.size() &&
         timeline.text(timeline.calls.name[call]).find("GraphLaunch") != std::string_view::npos;
}

bool has_graph_work(const Timeline& timeline) {
  for (ActivityIndex activity{0}; activity < timeline.activities.size(); ++activity)
    if (is_graph_work(timeline, activity)) return true;
  return false;
}

std::vector<GraphReplays> graph_replays(const Timeline& timeline, const PathTree& tree,
                                        const std::vector<std::uint32_t>& launchers, const Projection& by_capture) {
  const ActivityTable& activities = timeline.activities;
  std::vector<GraphReplays> rows;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> row_of;
  std::map<std::uint32_t, std::int64_t> time_of;
  std::set<std::pair<std::size_t, std::uint64_t>> launches;
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    if (!is_graph_work(timeline, activity)) continue;
    const std::uint32_t owner = launchers[activity];
    const std::uint32_t replayed_by = owner < tree.group_of.size() ? tree.group_of[owner] : owner;
    const std::uint32_t captured_in = place_of_capture(timeline, tree, by_capture, activity);
    const auto [found, added] = row_of.try_emplace({replayed_by, captured_in}, rows.size());
    if (added) rows.push_back({replayed_by, captured_in, 0, 0, 0, 0, 0, {}});
    GraphReplays& row = rows[found->second];
    const std::int64_t time = activities.end_ns[activity] - activities.begin_ns[activity];
    const LaunchIndex launch = activities.launch[activity];
    const std::uint64_t replay = launch != kNone ? launch : std::uint64_t{1} << 63 | activities.correlation[activity];
    row.replays += launches.emplace(found->second, replay).second ? 1 : 0;
    row.gpu_ops += 1;
    row.gpu_sum_ns += time;
    time_of[replayed_by] += time;
    if (activities.estimated[activity]) row.estimated_ns += time;
    row.conditional_ops += timeline.is_lower_bound(activity) ? 1 : 0;
    if (const std::uint32_t place = by_capture.place_of(timeline, activity); place < by_capture.pass.size())
      row.pass_ns[static_cast<std::size_t>(by_capture.pass[place])] += time;
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const GraphReplays& a, const GraphReplays& b) {
    if (a.replayed_by == b.replayed_by) return a.gpu_sum_ns > b.gpu_sum_ns;
    const std::int64_t of_a = time_of[a.replayed_by];
    const std::int64_t of_b = time_of[b.replayed_by];
    return of_a != of_b ? of_a > of_b : a.replayed_by < b.replayed_by;
  });
  return rows;
}

}  // namespace rangefinder::analysis
