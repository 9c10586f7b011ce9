// SPDX-License-Identifier: MIT
//
// Launches of graphs that were recorded as a whole, divided over the ranges that captured them.
#include "loaded.hpp"
#include "support/catch.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <map>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Nodes 1 and 2 in layer.0, 3 in layer.1, 4 in no range.
CaptureBuilder captured() {
  CaptureBuilder capture;
  capture.range("layer.0", 10, 40).launch(20).graph_node(1, 25).launch(30).graph_node(2, 35);
  capture.range("layer.1", 50, 90).launch(60).graph_node(3, 65);
  return capture;
}

/// A replay node by node from `time` on: 100 ns in layer.0, `second` in layer.1.
void replay(CaptureBuilder& capture, std::int64_t time, std::int64_t second = 300) {
  capture.range("replay", time, time + 50).launch(time + 10);
  capture.kernel("a", time + 100, time + 140).of_graph(1).kernel("b", time + 140, time + 200).of_graph(2);
  capture.kernel("c", time + 200, time + 200 + second).of_graph(3);
}

void whole(CaptureBuilder& capture, std::int64_t time, std::int64_t length, std::uint32_t graph = 1) {
  capture.range("whole", time, time + 50).launch(time + 10).graph_launch(time + 100, time + 100 + length, graph);
}

/// Device time by owner of what was recorded as a whole.
std::map<std::string, std::int64_t> owners(const Timeline& timeline, Attribution attribution = Attribution::kAuto) {
  const Projection projection = project(timeline, {attribution, true, false});
  std::map<std::string, std::int64_t> times;
  for (ActivityIndex row = 0; row < timeline.activities.size(); ++row) {
    if (timeline.activities.kind[row] != ActivityKind::kGraph) continue;
    const std::uint32_t owner = projection.owner[row];
    const std::string name =
        owner < timeline.ranges.size() ? std::string(timeline.text(timeline.ranges.name[owner])) : "-";
    times[name] += timeline.activities.end_ns[row] - timeline.activities.begin_ns[row];
  }
  return times;
}

using Times = std::map<std::string, std::int64_t>;

}  // namespace

TEST_CASE("a launch recorded as a whole is an activity of the range that replays it", "[timeline]") {
  CaptureBuilder capture = captured();
  whole(capture, 1'000, 800);
  Timeline timeline = load(capture);
  CHECK(owners(timeline) == Times{{"whole", 800}});
  CHECK(split_graph_launches(timeline) == 0);  // no launch is known node by node
  REQUIRE(timeline.activities.size() == 1);
  CHECK(timeline.text(timeline.activities.name[0]) == "CUDA graph 1");
  CHECK(timeline.activities.graph[0] == 1);
  CHECK_FALSE(timeline.activities.is_estimated(0));
  CHECK(owners(timeline) == Times{{"whole", 800}});
}

TEST_CASE("it is divided by the shares of the last launch node by node", "[timeline]") {
  CaptureBuilder capture = captured();
  replay(capture, 1'000, 700);
  replay(capture, 3'000);
  whole(capture, 5'000, 800);
  replay(capture, 7'000, 700);
  Timeline timeline = load(capture);
  const std::size_t rows = timeline.activities.size();
  timeline.activities.queued_ns = {1, 2};
  timeline.activities.submitted_ns = {3};
  CHECK(split_graph_launches(timeline) == 1);
  REQUIRE(timeline.activities.size() == rows + 1);
  CHECK(timeline.activities.queued_at(1) == 2);
  CHECK(timeline.activities.submitted_at(0) == 3);
  CHECK(timeline.activities.queued_at(rows) == kNoTime);
  CHECK(owners(timeline) == Times{{"layer.0", 200}, {"layer.1", 600}});
  CHECK(owners(timeline, Attribution::kLaunch) == Times{{"whole", 800}});
  // Parts follow each other and are marked; nothing else is.
  std::int64_t end = 0;
  for (ActivityIndex row = 0; row < timeline.activities.size(); ++row) {
    const bool part = timeline.activities.kind[row] == ActivityKind::kGraph;
    CHECK(timeline.activities.is_estimated(row) == part);
    if (!part) continue;
    if (end != 0) CHECK(timeline.activities.begin_ns[row] == end);
    end = timeline.activities.end_ns[row];
  }
  const std::size_t parts = timeline.activities.size();
  CHECK(split_graph_launches(timeline) == 0);  // once is enough
  CHECK(timeline.activities.size() == parts);
}

TEST_CASE("before the first launch node by node the first one counts", "[timeline]") {
  CaptureBuilder capture = captured();
  whole(capture, 1'000, 800);
  replay(capture, 3'000);
  replay(capture, 5'000, 700);
  Timeline timeline = load(capture);
  CHECK(split_graph_launches(timeline) == 1);
  CHECK(owners(timeline) == Times{{"layer.0", 200}, {"layer.1", 600}});
}

TEST_CASE("another graph's shares say nothing", "[timeline]") {
  CaptureBuilder capture = captured();
  replay(capture, 1'000);
  whole(capture, 3'000, 800, 2);
  Timeline timeline = load(capture);
  CHECK(split_graph_launches(timeline) == 0);
  CHECK(owners(timeline) == Times{{"whole", 800}});
}

TEST_CASE("the part of nodes that were made in no known range stays where it was replayed", "[timeline]") {
  CaptureBuilder capture = captured();
  replay(capture, 1'000, 100);
  capture.kernel("d", 1'300, 1'500).of_graph(9);  // of the same launch
  whole(capture, 3'000, 800);
  Timeline timeline = load(capture);
  CHECK(split_graph_launches(timeline) == 1);
  CHECK(owners(timeline) == Times{{"layer.0", 200}, {"layer.1", 200}, {"whole", 400}});
}

TEST_CASE("a graph's launch that lasted no time, and one with times near the ends, are divided", "[timeline]") {
  CaptureBuilder capture = captured();
  replay(capture, 1'000);
  whole(capture, 3'000, 0);
  whole(capture, 5'000, 3);
  Timeline timeline = load(capture);
  CHECK(split_graph_launches(timeline) == 2);
  CHECK(owners(timeline) == Times{{"layer.0", 0}, {"layer.1", 3}});
}
