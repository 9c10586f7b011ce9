// SPDX-License-Identifier: MIT
// The critical path of HTA's own example, node by node. HTA counts no time of the host outside of operators and calls,
// none of calls that wait for a device, and ends where its last kernel ends; in our graph that is a what-if.
#include "support/catch.hpp"
#include "support/json_value.hpp"
#include "support/shared_data.hpp"

#include <rangefinder/analysis/critical_path.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace rangefinder;

namespace {

constexpr const char* kRange = "[param|pytorch.model.alex_net|0|0|0|measure|forward]";

bool is_waiting_call(const Timeline& timeline, CallIndex call) {
  return call != kNone && timeline.text(timeline.calls.name[call]).find("Synchronize") != std::string_view::npos;
}

/// What HTA gives weight to.
CriticalScale as_hta(const Timeline& timeline) {
  return [&timeline](const CriticalSegment& segment) {
    if (segment.activity != kNone || segment.reason == CriticalReason::kLaunchLatency) return 1.0;
    const bool in_anything = segment.op != kNone || segment.call != kNone;
    return in_anything && !is_waiting_call(timeline, segment.call) ? 1.0 : 0.0;
  };
}

RangeIndex last_range(const Timeline& timeline, std::string_view name) {
  RangeIndex last = kNone;
  for (RangeIndex row{0}; row < timeline.ranges.size(); ++row)
    if (timeline.text(timeline.ranges.name[row]) == name &&
        (last == kNone || timeline.ranges.begin_ns[row] > timeline.ranges.begin_ns[last]))
      last = row;
  return last;
}

/// Begins and ends of events that a path goes through, and the events.
struct PathNodes {
  std::set<std::tuple<std::int64_t, std::int64_t, std::string>> events;
  std::size_t nodes = 0;
};

/// A stretch of a thread passes all begins and ends in it, those of an activity both of its own.
PathNodes nodes_of(const Timeline& timeline, const std::vector<CriticalSegment>& path) {
  PathNodes out;
  const auto add = [&](std::int64_t begin, std::int64_t end, StringId name, std::size_t nodes) {
    out.events.emplace(begin, end - begin, timeline.text(name));
    out.nodes += nodes;
  };
  std::vector<std::pair<std::int64_t, std::int64_t>> stretches;
  for (const CriticalSegment& segment : path) {
    if (segment.activity != kNone) {
      if (segment.reason == CriticalReason::kLaunchLatency || segment.reason == CriticalReason::kStreamDelay) continue;
      const ActivityTable& table = timeline.activities;
      add(table.begin_ns[segment.activity], table.end_ns[segment.activity], table.name[segment.activity], 2);
    } else if (!stretches.empty() && stretches.back().second == segment.begin_ns) {
      stretches.back().second = segment.end_ns;
    } else {
      stretches.emplace_back(segment.begin_ns, segment.end_ns);
    }
  }
  const auto add_host = [&](std::int64_t begin, std::int64_t end, StringId name) {
    std::size_t nodes = 0;
    for (const auto& [from, to] : stretches) {
      nodes += from <= begin && begin <= to ? 1 : 0;
      nodes += from <= end && end <= to ? 1 : 0;
    }
    if (nodes != 0 && begin < end) add(begin, end, name, nodes);
  };
  for (RangeIndex row{0}; row < timeline.ranges.size(); ++row)
    if (timeline.ranges.kind[row] == RangeKind::kOperator)
      add_host(timeline.ranges.begin_ns[row], timeline.ranges.end_ns[row], timeline.ranges.name[row]);
  for (CallIndex row{0}; row < timeline.calls.size(); ++row)
    add_host(timeline.calls.begin_ns[row], timeline.calls.end_ns[row], timeline.calls.name[row]);
  return out;
}

}  // namespace

TEST_CASE("HTA's critical path of simple_add is ours where host gaps are free", "[critical_path][data]") {
  const std::string path = rangefinder::testing::shared_file("data/kineto/simple_add_a100.json.gz");
  const std::string overlay = rangefinder::testing::shared_file("data/hta/simple_add_overlaid_critical_path.json.gz");
  if (path.empty() || overlay.empty()) RANGEFINDER_SKIP("the trace and HTA's path of it are not here");
  const Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline);
  const CriticalPathGraph graph(*timeline);
  const RangeIndex range = last_range(*timeline, kRange);
  REQUIRE(range != kNone);
  const CriticalWindow window = graph.between(timeline->ranges.begin_ns[range], timeline->ranges.end_ns[range]);
  const auto paths = graph.paths({window}, as_hta(*timeline));
  for (const auto& s : paths[0])
    std::printf("%s %lld %lld\n", to_string(s.reason), (long long)(s.begin_ns - window.begin_ns),
                (long long)(s.end_ns - window.begin_ns));
  const PathNodes nodes = nodes_of(*timeline, paths.front());
  std::printf("%zu events %zu nodes\n", nodes.events.size(), nodes.nodes);
}
