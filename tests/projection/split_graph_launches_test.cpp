// SPDX-License-Identifier: MIT
//
// Launches of graphs that were recorded as a whole, divided over the ranges that captured them.
#include "projection/split_graph_launches.hpp"

#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"
#include "support/timeline_columns.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

Timeline built(const CaptureBuilder& capture) {
  const ScratchFolder folder;
  capture.write(folder.file("a.rfcap"));
  Result<Timeline> timeline = load_timeline(folder.file("a.rfcap"));
  REQUIRE(timeline.ok());
  return std::move(*timeline);
}

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
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
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

TEST_CASE("a launch recorded as a whole is an activity of the range that replays it", "[projection]") {
  CaptureBuilder capture = captured();
  whole(capture, 1'000, 800);
  Timeline timeline = built(capture);
  CHECK(owners(timeline) == Times{{"whole", 800}});
  CHECK(split_graph_launches(timeline) == 0);  // no launch is known node by node
  REQUIRE(timeline.activities.size() == 1);
  CHECK(timeline.text(timeline.activities.name[0]) == "CUDA graph 1");
  CHECK(timeline.activities.graph[0] == 1);
  CHECK_FALSE(timeline.activities.estimated[0]);
  CHECK(owners(timeline) == Times{{"whole", 800}});
}

TEST_CASE("it is divided by the shares of the last launch node by node", "[projection]") {
  CaptureBuilder capture = captured();
  replay(capture, 1'000, 700);
  replay(capture, 3'000);
  whole(capture, 5'000, 800);
  replay(capture, 7'000, 700);
  Timeline timeline = built(capture);
  const std::size_t rows = timeline.activities.size();
  const ActivityTable before = timeline.activities;
  change_row(timeline.activities, 0, [](ActivityRow& activity) { activity.queued_ns = 1, activity.submitted_ns = 3; });
  change_row(timeline.activities, 1, [](ActivityRow& activity) { activity.queued_ns = 2; });
  CHECK(split_graph_launches(timeline) == 1);
  REQUIRE(timeline.activities.size() == rows + 1);
  for (std::size_t row = 0; row < 6; ++row) CHECK(timeline.activities.graph_node[row] == before.graph_node[row]);
  CHECK(timeline.activities.queued_ns[1] == 2);
  CHECK(timeline.activities.submitted_ns[0] == 3);
  CHECK(timeline.activities.queued_ns[rows] == kNoTime);
  CHECK(owners(timeline) == Times{{"layer.0", 200}, {"layer.1", 600}});
  CHECK(owners(timeline, Attribution::kLaunch) == Times{{"whole", 800}});
  // Dependencies follow each other and are marked; nothing else is.
  std::int64_t end = 0;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
    const bool part = timeline.activities.kind[row] == ActivityKind::kGraph;
    CHECK(timeline.activities.estimated[row] == part);
    if (!part) continue;
    if (end != 0) CHECK(timeline.activities.begin_ns[row] == end);
    end = timeline.activities.end_ns[row];
  }
  const std::size_t parts = timeline.activities.size();
  CHECK(split_graph_launches(timeline) == 0);  // once is enough
  CHECK(timeline.activities.size() == parts);
}

TEST_CASE("parts follow each other as the operations did, in whatever order the input has those", "[projection]") {
  CaptureBuilder capture = captured();
  capture.range("replay", 1'000, 1'050).launch(1'010);
  capture.kernel("c", 1'200, 1'500).of_graph(3).kernel("b", 1'140, 1'200).of_graph(2);
  capture.kernel("a", 1'100, 1'140).of_graph(1);
  whole(capture, 5'000, 800);
  Timeline timeline = built(capture);
  CHECK(split_graph_launches(timeline) == 1);
  const Projection projection = project(timeline, {});
  std::map<std::int64_t, std::string> parts;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row)
    if (timeline.activities.estimated[row])
      parts[timeline.activities.begin_ns[row] - timeline.begin_ns] =
          timeline.text(timeline.ranges.name[projection.owner[row]]);
  REQUIRE(parts.size() == 2);
  CHECK(parts.begin()->second == "layer.0");
}

TEST_CASE("a part counts where its first operation was captured, in whatever order the input has those",
          "[projection]") {
  CaptureBuilder capture = captured();
  capture.start_end("request", 5, 27);  // nodes 1 and 2 were made in layer.0, node 1 here, too
  capture.range("replay", 1'000, 1'050).launch(1'010);
  capture.kernel("b", 1'140, 1'200).of_graph(2).kernel("a", 1'100, 1'140).of_graph(1);
  whole(capture, 5'000, 800);
  Timeline timeline = built(capture);
  CHECK(split_graph_launches(timeline) == 1);
  const Projection projection = project(timeline, {});
  CHECK(projection.inclusive[TimelineBuilder::range_named(timeline, "request")].gpu_sum_ns == 840);
}

TEST_CASE("before the first launch node by node the first one counts", "[projection]") {
  CaptureBuilder capture = captured();
  whole(capture, 1'000, 800);
  replay(capture, 3'000);
  replay(capture, 5'000, 700);
  Timeline timeline = built(capture);
  CHECK(split_graph_launches(timeline) == 1);
  CHECK(owners(timeline) == Times{{"layer.0", 200}, {"layer.1", 600}});
}

TEST_CASE("past the bound on rows the smallest parts stay where the graph was replayed, and that is said",
          "[projection]") {
  constexpr std::int64_t kLayers = 20;
  CaptureBuilder capture;
  const auto name = [](std::int64_t layer) { return "layer." + std::to_string(layer); };
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    const std::int64_t time = 10 + layer * 40;
    capture.range(name(layer), time, time + 30).launch(time + 10);
    capture.graph_node(static_cast<std::uint64_t>(layer + 1), time + 15);
  }
  capture.range("replay", 1'000, 1'050).launch(1'010);
  std::int64_t begin = 1'100;
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {  // 10 ns, 20 ns, ...
    const std::int64_t end = begin + 10 * (layer + 1);
    capture.kernel("k", begin, end).of_graph(static_cast<std::uint64_t>(layer + 1));
    begin = end;
  }
  whole(capture, 5'000, 2'100);
  whole(capture, 9'000, 2'100);
  Timeline timeline = built(capture);
  const std::size_t notes = timeline.notes.size();
  SECTION("which is not reached") {
    CHECK(projection::split_graph_launches(timeline, {}, 2 * kLayers) == 2);
    CHECK(timeline.notes.size() == notes);
    CHECK(owners(timeline)[name(0)] == 20);
    CHECK(owners(timeline).count("whole") == 0);
  }
  SECTION("which is") {
    CHECK(projection::split_graph_launches(timeline, {}, 2 * kLayers - 1) == 2);
    REQUIRE(timeline.notes.size() == notes + 1);
    CHECK(timeline.notes.back().find("the parts of up to 1 ranges each, the smallest") != std::string::npos);
    const Times times = owners(timeline);
    CHECK(times.count(name(0)) == 0);
    CHECK(times.at(name(1)) == 40);
    CHECK(times.at("whole") == 20);
  }
  SECTION("but never those of sixteen ranges") {
    CHECK(projection::split_graph_launches(timeline, {}, 1) == 2);
    REQUIRE(timeline.notes.size() == notes + 1);
    CHECK(timeline.notes.back().find("the parts of up to 4 ranges each, the smallest") != std::string::npos);
    const Times times = owners(timeline);
    CHECK(times.size() == 17);
    CHECK(times.at("whole") == 2 * (10 + 20 + 30 + 40));
    CHECK(times.at(name(4)) == 100);
    CHECK(std::accumulate(times.begin(), times.end(), std::int64_t{0},
                          [](std::int64_t sum, const auto& one) { return sum + one.second; }) == 4'200);
  }
}

TEST_CASE("another graph's shares say nothing", "[projection]") {
  CaptureBuilder capture = captured();
  replay(capture, 1'000);
  whole(capture, 3'000, 800, 2);
  Timeline timeline = built(capture);
  CHECK(split_graph_launches(timeline) == 0);
  CHECK(owners(timeline) == Times{{"whole", 800}});
}

TEST_CASE("the part of nodes that were made in no known range stays where it was replayed", "[projection]") {
  CaptureBuilder capture = captured();
  replay(capture, 1'000, 100);
  capture.kernel("d", 1'300, 1'500).of_graph(9);  // of the same launch
  whole(capture, 3'000, 800);
  Timeline timeline = built(capture);
  CHECK(split_graph_launches(timeline) == 1);
  CHECK(owners(timeline) == Times{{"layer.0", 200}, {"layer.1", 200}, {"whole", 400}});
}

TEST_CASE("however many operations one range captured, they are one part", "[projection]") {
  CaptureBuilder capture;
  capture.range("layer.0", 0, 5'000).range("layer.1", 5'000, 9'000);
  for (std::uint64_t node = 1; node <= 200; ++node)
    capture.launch(20 * static_cast<std::int64_t>(node)).graph_node(node, 20 * static_cast<std::int64_t>(node));
  capture.launch(6'000).graph_node(201, 6'000);
  // A training step: autograd runs somewhere, which decides where work counts.
  const bool nodes = GENERATE(false, true);
  if (nodes) capture.node("MulBackward0", 8'000, 8'100, 1, 1);
  capture.range("replay", 20'000, 20'100).launch(20'010);
  for (std::uint64_t node = 1; node <= 201; ++node) capture.kernel("k", 21'000, 21'100).of_graph(node);
  for (std::int64_t time = 30'000; time < 130'000; time += 1'000) whole(capture, time, 201);
  Timeline timeline = built(capture);
  REQUIRE((timeline.autograd_nodes.size() != 0) == nodes);
  const std::size_t rows = timeline.activities.size();
  CHECK(split_graph_launches(timeline) == 100);
  CHECK(timeline.activities.size() == rows + 100);  // two parts each
  CHECK(owners(timeline) == Times{{"layer.0", 20'000}, {"layer.1", 100}});
}

TEST_CASE("a captured backward is a part of its own, of the range of its forward", "[projection]") {
  CaptureBuilder capture;
  capture.range("layer", 10, 40).launch(20).graph_node(1, 25).numbers(30, 1, 5);
  capture.on_thread(2, "pt_autograd_0").node("MulBackward0", 50, 80, 0, 5).launch(60).graph_node(2, 65);
  capture.on_thread(1).numbers(90, 1, 5);
  capture.range("replay", 1'000, 1'100).launch(1'010).kernel("f", 1'100, 1'200).of_graph(1);
  capture.kernel("b", 1'200, 1'500).of_graph(2);
  whole(capture, 3'000, 800);
  const Attribution attribution = GENERATE(Attribution::kAuto, Attribution::kCapture, Attribution::kLaunch);
  Timeline timeline = built(capture);
  const std::size_t rows = timeline.activities.size();
  CHECK(split_graph_launches(timeline, {attribution, true, false}) == (attribution == Attribution::kLaunch ? 0 : 1));
  CHECK(timeline.activities.size() == rows + (attribution == Attribution::kLaunch ? 0 : 1));
  const Projection projection = project(timeline, {attribution, true, false});
  std::map<Pass, std::int64_t> passes;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
    if (timeline.activities.kind[row] != ActivityKind::kGraph || projection.pass.empty()) continue;
    passes[projection.pass[projection.place_of(timeline, row)]] +=
        timeline.activities.end_ns[row] - timeline.activities.begin_ns[row];
  }
  switch (attribution) {
    case Attribution::kAuto:
      CHECK(owners(timeline) == Times{{"layer", 800}});
      CHECK(passes == std::map<Pass, std::int64_t>{{Pass::kForward, 200}, {Pass::kBackward, 600}});
      break;
    case Attribution::kCapture:  // which does not look at autograd
      CHECK(owners(timeline, attribution) == Times{{"layer", 200}, {"whole", 600}});
      break;
    default:
      CHECK(owners(timeline, attribution) == Times{{"whole", 800}});
  }
}

TEST_CASE("parts are bounded where ranges and launches are many", "[projection][slow]") {
  CaptureBuilder capture;
  constexpr std::int64_t kRanges = 500;
  constexpr std::int64_t kLaunches = 10'000;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < kRanges; ++i)
    capture.range("layer." + std::to_string(i), 100 * i, 100 * i + 90)
        .launch(100 * i + 10)
        .graph_node(static_cast<std::uint64_t>(i + 1), 100 * i + 20);
  capture.range("replay", 100'000, 100'100).launch(100'010);
  for (std::int64_t i = 0; i < kRanges; ++i) {
    sum += i < 10 ? 1'000 : 1;
    capture.kernel("k", 200'000, 200'000 + (i < 10 ? 1'000 : 1)).of_graph(static_cast<std::uint64_t>(i + 1));
  }
  for (std::int64_t i = 0; i < kLaunches; ++i)
    capture.launch(1'000'000 + 100 * i).graph_launch(1'000'000 + 100 * i, 1'000'000 + 100 * i + sum);
  Timeline timeline = built(capture);
  CHECK(split_graph_launches(timeline) == kLaunches);
  CHECK(timeline.activities.size() <= (std::size_t{1} << 22) + 2 * kLaunches);
  REQUIRE(timeline.notes.size() == 1);
  CHECK(timeline.notes[0].find("stay on the ranges that replay them") != std::string::npos);
  const Times times = owners(timeline);
  CHECK(times.at("layer.0") == 1'000 * kLaunches);
  CHECK(times.at("layer.9") == 1'000 * kLaunches);
  CHECK(times.at("-") == (kRanges - 10) * kLaunches - std::accumulate(times.begin(), times.end(), std::int64_t{0},
                                                                      [](std::int64_t total, const auto& one) {
                                                                        const bool small = one.second == kLaunches;
                                                                        return total + (small ? one.second : 0);
                                                                      }));
}

TEST_CASE("a graph's launch that lasted no time, and one with times near the ends, are divided", "[projection]") {
  CaptureBuilder capture = captured();
  replay(capture, 1'000);
  whole(capture, 3'000, 0);
  whole(capture, 5'000, 3);
  Timeline timeline = built(capture);
  CHECK(split_graph_launches(timeline) == 2);
  CHECK(owners(timeline) == Times{{"layer.0", 0}, {"layer.1", 3}});
}
