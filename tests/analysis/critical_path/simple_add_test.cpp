// SPDX-License-Identifier: MIT
// The critical path of HTA's own example, node by node. HTA gives no weight to time of the host outside of operators
// and calls, nor to calls that wait for a device; in our graph that is a what-if. Its figures for the second forward
// pass are those of its tests: 159 events, 315 nodes, 314 edges.
#include "analysis/critical_path/build.hpp"
#include "projection/project.hpp"
#include "support/catch.hpp"
#include "support/json_value.hpp"
#include "support/shared_data.hpp"

#include <rangefinder/analysis/critical_path.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::JsonValue;
namespace critical = rangefinder::analysis::critical_path;

namespace {

constexpr const char* kRange = "[param|pytorch.model.alex_net|0|0|0|measure|forward]";

/// "17166000 for 48000 cudaLaunchKernel", ns since the begin of the range.
using Event = std::string;

Event event_of(std::int64_t begin_ns, std::int64_t length_ns, std::string_view name) {
  return std::to_string(begin_ns) + " for " + std::to_string(length_ns) + " " + std::string(name);
}

bool is_waiting_call(const Timeline& timeline, CallIndex call) {
  return call != kNone && timeline.text(timeline.calls.name[call]).find("Synchronize") != std::string_view::npos;
}

/// What HTA gives weight to.
CriticalScale as_hta(const Timeline& timeline) {
  return [&timeline](const CriticalSegment& segment) {
    const bool on_host = segment.activity == kNone && !segment.is_wait;
    const bool in_anything = segment.op != kNone || segment.call != kNone;
    return on_host && (!in_anything || is_waiting_call(timeline, segment.call)) ? 0.0 : 1.0;
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
  std::set<Event> events;
  std::size_t nodes = 0;
};

/// The stretches of threads that a path goes through, and the activities.
struct Stretches {
  std::vector<std::pair<std::int64_t, std::int64_t>> host;
  std::set<ActivityIndex> work;
};

Stretches stretches_of(const std::vector<CriticalSegment>& path) {
  Stretches out;
  for (const CriticalSegment& segment : path) {
    if (segment.activity != kNone)
      out.work.insert(segment.activity);
    else if (!out.host.empty() && out.host.back().second == segment.begin_ns)
      out.host.back().second = segment.end_ns;
    else
      out.host.emplace_back(segment.begin_ns, segment.end_ns);
  }
  return out;
}

/// A stretch of a thread passes all begins and ends in it, an activity both of its own.
PathNodes nodes_of(const Timeline& timeline, const std::vector<CriticalSegment>& path, std::int64_t origin_ns) {
  PathNodes out;
  const Stretches stretches = stretches_of(path);
  const auto add = [&](std::int64_t begin, std::int64_t end, StringId name, std::size_t nodes) {
    out.events.insert(event_of(begin - origin_ns, end - begin, timeline.text(name)));
    out.nodes += nodes;
  };
  for (const ActivityIndex row : stretches.work)
    add(timeline.activities.begin_ns[row], timeline.activities.end_ns[row], timeline.activities.name[row], 2);
  const auto add_host = [&](std::int64_t begin, std::int64_t end, StringId name) {
    std::size_t nodes = 0;
    for (const auto& [from, to] : stretches.host)
      nodes += (from <= begin && begin <= to ? 1u : 0u) + (from <= end && end <= to ? 1u : 0u);
    if (nodes != 0 && begin < end) add(begin, end, name, nodes);
  };
  for (RangeIndex row{0}; row < timeline.ranges.size(); ++row)
    if (timeline.ranges.kind[row] == RangeKind::kOperator)
      add_host(timeline.ranges.begin_ns[row], timeline.ranges.end_ns[row], timeline.ranges.name[row]);
  for (CallIndex row{0}; row < timeline.calls.size(); ++row)
    add_host(timeline.calls.begin_ns[row], timeline.calls.end_ns[row], timeline.calls.name[row]);
  return out;
}

/// Events that the overlay marks, of those that begin in the last run of the range.
std::set<Event> marked_events(const JsonValue& overlay) {
  std::int64_t origin = 0, end = 0;
  for (const JsonValue& event : overlay["traceEvents"].items())
    if (event.has("name") && event["name"].text() == kRange && event["ts"].integer() > origin) {
      origin = event["ts"].integer();
      end = origin + event["dur"].integer();
    }
  std::set<Event> marked;
  for (const JsonValue& event : overlay["traceEvents"].items()) {
    if (event["ph"].text() != "X" || !event.has("args") || !event["args"].has("critical")) continue;
    const std::int64_t begin = event["ts"].integer();
    if (begin >= origin && begin < end)
      marked.insert(event_of((begin - origin) * 1000, event["dur"].integer() * 1000, event["name"].text()));
  }
  return marked;
}

/// The delay of the edge of a kind in front of the one activity that begins so long after the range.
std::int64_t lag_of(const critical::Graph& graph, std::int64_t begin_ns, critical::EdgeKind kind) {
  for (critical::NodeIndex node = graph.first_activity; node < graph.size(); ++node)
    if (graph.begin_ns[node] == begin_ns)
      for (const critical::Edge& edge : graph.edges_of(node))
        if (edge.kind == kind) return edge.lag_ns;
  return -1;
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
  const std::int64_t origin = timeline->ranges.begin_ns[range];
  const CriticalWindow window = graph.between(origin, timeline->ranges.end_ns[range]);
  PathNodes nodes = nodes_of(*timeline, graph.paths({window}, as_hta(*timeline)).front(), origin);
  // HTA's path also goes through the synchronisation with which the range begins, which has no weight: both of its
  // nodes. Ours begins with what takes time.
  REQUIRE(nodes.events.insert(event_of(65'000, 17'000, "cudaDeviceSynchronize")).second);
  nodes.nodes += 2;
  CHECK(nodes.events.size() == 159);
  CHECK(nodes.nodes == 315);  // and 314 edges: a path has one less

  // The overlay is of a path through the whole trace. In this range it has one event more, the synchronisation at its
  // end, through which it goes on; a path of the range alone ends with the kernel before it.
  std::set<Event> marked = marked_events(JsonValue::load(overlay));
  REQUIRE(marked.erase(event_of(242'925'000, 21'000, "cudaDeviceSynchronize")) == 1);
  CHECK(nodes.events == marked);
}

TEST_CASE("delays in front of kernels of simple_add are HTA's", "[critical_path][data]") {
  const std::string path = rangefinder::testing::shared_file("data/kineto/simple_add_a100.json.gz");
  if (path.empty()) RANGEFINDER_SKIP("no traces at hand");
  const Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline);
  const critical::Graph graph =
      critical::build(*timeline, 100'000, projection::project_owners(*timeline, {}).owner).graph;
  const std::int64_t origin = timeline->ranges.begin_ns[last_range(*timeline, kRange)];
  // A Fourier transform on a stream that did nothing, and the product behind it.
  CHECK(lag_of(graph, origin + 222'544'000, critical::EdgeKind::kLaunch) == 27'000);
  CHECK(lag_of(graph, origin + 222'614'000, critical::EdgeKind::kStream) == 7'000);
}
