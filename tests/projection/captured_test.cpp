// SPDX-License-Identifier: MIT
//
// Attribution `capture`: a graph's work on the range in which its node was made.
#include "projection/slow_projection.hpp"
#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/projection.hpp>

#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

struct Captured {
  Timeline timeline;
  Projection projection;

  explicit Captured(Timeline built, Attribution attribution = Attribution::kCapture)
      : timeline(std::move(built)), projection(project(timeline, {attribution, true, false})) {
    require_sound_account(timeline, projection);
    require_equal(project_slowly(timeline, {attribution, true, false}), projection);
  }
  explicit Captured(TimelineBuilder& builder, Attribution attribution = Attribution::kCapture)
      : Captured(builder.build(), attribution) {}

  std::string owner(std::size_t activity) const {
    const std::uint32_t owner = projection.owner[activity];
    return owner < timeline.ranges.size() ? std::string(timeline.text(timeline.ranges.name[owner])) : "(none)";
  }
  std::string owner_of(std::string_view kernel) const {
    for (ActivityIndex row{0}; row < timeline.activities.size(); ++row)
      if (timeline.text(timeline.activities.name[row]) == kernel) return owner(row);
    return "(no such kernel)";
  }
  const DeviceFigures& inclusive(std::string_view name) const {
    return projection.inclusive[TimelineBuilder::range_named(timeline, name)];
  }
};

/// Two layers are captured on thread 1 and replayed on thread 2, twice.
TimelineBuilder two_captured_layers() {
  TimelineBuilder builder;
  builder.range("capture", 0, 100).range("layer.0", 10, 40).range("layer.1", 50, 90);
  builder.launch(20);
  const LaunchIndex first = builder.last_launch();
  builder.launch(60);
  const LaunchIndex second = builder.last_launch();
  builder.on_thread(2).range("replay", 200, 400);
  builder.launch(210).kernel(220, 230).of_graph(first, 1).kernel(230, 260).of_graph(second, 2);
  builder.launch(310).kernel(320, 330).of_graph(first, 1).kernel(330, 360).of_graph(second, 2);
  return builder;
}

}  // namespace

TEST_CASE("a graph's work is on the ranges that captured its nodes", "[projection]") {
  TimelineBuilder builder = two_captured_layers();
  const Captured c(builder);
  CHECK(c.projection.attribution == Attribution::kCapture);
  CHECK(c.owner(0) == "layer.0");
  CHECK(c.owner(1) == "layer.1");
  CHECK(c.inclusive("layer.0").gpu_ops == 2);
  CHECK(c.inclusive("layer.1").gpu_sum_ns == 60);
  CHECK(c.inclusive("capture").gpu_sum_ns == 80);
  CHECK(c.inclusive("replay").gpu_ops == 0);
  // Both parents stay: the place that counts, and the launch that replayed it.
  CHECK(c.projection.place_of(c.timeline, ActivityIndex{3}) == 1);
  CHECK(c.timeline.activities.launch[3] == 3);
  // The delay is counted from the replay.
  CHECK(c.inclusive("layer.0").launch_delay_ns == 20);
}

TEST_CASE("attribution launch and forward leave a graph's work where it was replayed, auto does not", "[projection]") {
  const Attribution attribution = GENERATE(Attribution::kLaunch, Attribution::kForward);
  TimelineBuilder builder = two_captured_layers();
  const Captured c(builder, attribution);
  CHECK(c.projection.attribution == Attribution::kLaunch);
  CHECK(c.projection.place.empty());
  CHECK(c.inclusive("replay").gpu_ops == 4);
  builder = two_captured_layers();
  const Captured automatic(builder, Attribution::kAuto);
  CHECK(automatic.projection.attribution == Attribution::kCapture);
  CHECK(automatic.owner(2) == "layer.0");
}

TEST_CASE("work whose node is not known stays where it was launched", "[projection]") {
  TimelineBuilder builder = two_captured_layers();
  builder.on_thread(2).range("other", 500, 600).launch(510).kernel(520, 530).of_graph(kNone, 9);
  builder.launch(540).kernel(550, 560);
  SECTION("beside known nodes") {
    const Captured c(builder);
    CHECK(c.owner(4) == "other");
    CHECK(c.owner(5) == "other");
    CHECK(c.owner(0) == "layer.0");
  }
  SECTION("alone") {
    builder = TimelineBuilder();
    builder.range("replay", 0, 100).launch(10).kernel(20, 30).of_graph(kNone, 9);
    const Captured c(builder);
    CHECK(c.owner(0) == "replay");
    CHECK(c.projection.attribution == Attribution::kLaunch);
  }
}

TEST_CASE("work whose node was made outside of any range stays where it was launched", "[projection]") {
  TimelineBuilder builder;
  builder.launch(5);
  const LaunchIndex outside = builder.last_launch();
  builder.range("layer", 10, 20).launch(15);
  const LaunchIndex inside = builder.last_launch();
  builder.range("replay", 100, 200).launch(110).kernel(120, 130).of_graph(outside, 1);
  SECTION("all of it") {
    const Captured c(builder);
    CHECK(c.owner(0) == "replay");
    CHECK(c.projection.attribution == Attribution::kLaunch);
  }
  SECTION("a part of it") {
    builder.kernel(130, 150).of_graph(inside, 2);
    const Captured c(builder);
    CHECK(c.owner(0) == "replay");
    CHECK(c.owner(1) == "layer");
    CHECK(c.inclusive("replay").gpu_ops == 1);
    CHECK(c.projection.attribution == Attribution::kCapture);
  }
}

TEST_CASE("a captured backward is on the range of its forward operator", "[projection]") {
  TimelineBuilder builder;
  builder.range("capture", 0, 200).range("layer", 10, 40).launch(20);
  const LaunchIndex forward = builder.last_launch();
  builder.on_thread(2).node(60, 90, 1, 1, 30).launch(70);
  const LaunchIndex backward = builder.last_launch();
  builder.on_thread(1).range("replay", 300, 400).launch(310);
  builder.kernel(320, 330).of_graph(forward, 1).kernel(330, 370).of_graph(backward, 2);
  SECTION("with auto") {
    const Captured c(builder, Attribution::kAuto);
    CHECK(c.projection.attribution == Attribution::kForward);
    CHECK(c.owner(0) == "layer");
    CHECK(c.owner(1) == "layer");
    CHECK(c.projection.pass[c.projection.place_of(c.timeline, ActivityIndex{1})] == Pass::kBackward);
  }
  SECTION("capture alone does not look at autograd: no range was open on its thread") {
    const Captured c(builder);
    CHECK(c.owner(0) == "layer");
    CHECK(c.owner(1) == "replay");
  }
}

TEST_CASE("a node decides also where the correlation id of the replay is wrong", "[projection]") {
  // CUPTI before 13.1 update 1, once it was switched off and on again.
  TimelineBuilder builder;
  builder.range("layer", 0, 50).launch(10);
  const LaunchIndex made = builder.last_launch();
  builder.range("replay", 100, 200).launch(110).without_launch(4711).kernel(120, 130).of_graph(made, 1);
  const Captured c(builder);
  CHECK(c.owner(0) == "layer");
  CHECK(c.inclusive("layer").launch_delay_ns == 0);  // not known
  CHECK(c.projection.account.unknown.gpu_ops == 0);
}

// ---- from a capture ---------------------------------------------------------------------------------------------

namespace {

Timeline load(const CaptureBuilder& capture) {
  const ScratchFolder folder;
  capture.write(folder.file("a.rfcap"));
  Result<Timeline> timeline = load_timeline(folder.file("a.rfcap"));
  REQUIRE(timeline.ok());
  return std::move(*timeline);
}

}  // namespace

TEST_CASE("a capture says which call made a node", "[projection][timeline]") {
  CaptureBuilder capture;
  capture.range("layer.0", 10, 40).launch(20).graph_node(1, 25).graph_node(11, 100);
  capture.range("layer.1", 50, 90).launch(60).graph_node(2, 65).graph_node(12, 100);
  capture.on_thread(2).range("replay", 1'000, 2'000).launch(1'100);
  capture.kernel("a", 1'200, 1'300).of_graph(11).kernel("b", 1'300, 1'400).of_graph(12);
  capture.kernel("c", 1'400, 1'500).of_graph(13);
  SECTION("in this order") {}
  SECTION("in any order of chunks") { capture.chunk_rows(1).shuffle(7); }
  const Captured c(load(capture), Attribution::kAuto);
  CHECK(c.owner_of("a") == "layer.0");
  CHECK(c.owner_of("b") == "layer.1");
  CHECK(c.owner_of("c") == "replay");
  CHECK(c.timeline.graph_nodes.size() == 4);
}

TEST_CASE("a node is known though no launch has the correlation id of its replay", "[projection][timeline]") {
  CaptureBuilder capture;
  capture.range("layer", 10, 40).launch(20).graph_node(1, 25);
  capture.range("replay", 100, 2'000).launch(400).correlation(4'711).kernel("a", 600, 700).of_graph(1);
  const Captured c(load(capture));
  CHECK(c.owner(0) == "layer");
  CHECK(c.timeline.activities.launch[0] == kNone);
}

TEST_CASE("an updated node counts from the launches that come after the update", "[projection][timeline]") {
  CaptureBuilder capture;
  capture.range("old", 10, 40).launch(20).graph_node(1, 25);
  capture.range("new", 50, 90).launch(60).graph_node(1, 500);
  capture.range("replay", 100, 2'000).launch(400).kernel("a", 600, 700).of_graph(1);
  capture.launch(800).kernel("a", 900, 950).of_graph(1);
  capture.correlation(0).graph_node(1, 1'000).correlation(50);
  capture.launch(1'100).kernel("a", 1'200, 1'300).of_graph(1);
  const Captured c(load(capture));
  CHECK(c.owner(0) == "old");  // launched before the update, though it ran after it
  CHECK(c.owner(1) == "new");
  CHECK(c.owner(2) == "replay");
}

TEST_CASE("what a node became by a later update says nothing of the replays before", "[projection][timeline]") {
  CaptureBuilder capture;
  const std::int64_t error = GENERATE(0, 150);
  if (error != 0) capture.clock_point(50, 0, 2 * error);
  capture.range("other model", 3'000, 3'100).launch(3'010).graph_node(1, 3'200);
  capture.range("replay", 100, 2'000).launch(400).kernel("early", 600, 700).of_graph(1);
  capture.range("again", 3'130, 3'150).launch(3'140).kernel("just before", 3'300, 3'400).of_graph(1);
  capture.range("replay", 4'000, 4'100).launch(4'010).kernel("late", 4'200, 4'300).of_graph(1);
  const Captured c(load(capture));
  CHECK(c.owner_of("early") == "replay");
  CHECK(c.owner_of("late") == "other model");
  // As near as that, the clock's error may have turned the two round.
  CHECK(c.owner_of("just before") == (c.timeline.clock_error_ns >= 60 ? "other model" : "again"));
  CHECK((c.timeline.clock_error_ns >= 60) == (error != 0));
}

TEST_CASE("a node of a call that the capture does not hold is not known", "[projection][timeline]") {
  CaptureBuilder capture;
  capture.correlation(9'999).graph_node(1, 10);
  capture.correlation(1).range("replay", 100, 2'000).launch(400).kernel("a", 600, 700).of_graph(1);
  const Captured c(load(capture));
  CHECK(c.owner(0) == "replay");
  CHECK(c.projection.attribution == Attribution::kLaunch);
}

TEST_CASE("a node of a call that was not noted is known from the API record", "[projection][timeline]") {
  CaptureBuilder capture;
  capture.range("layer", 10, 40).correlation(500).call("cudaGraphAddKernelNode", 20, 30).graph_node(1, 25);
  capture.range("replay", 100, 2'000).correlation(501).launch(400).kernel("a", 600, 700).of_graph(1);
  const Captured c(load(capture));
  CHECK(c.owner(0) == "layer");
}
