// SPDX-License-Identifier: MIT
//
// Attribution `forward`: backward work on the range in which its node was made.
#include "projection/slow_projection.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/projection.hpp>

#include <string>
#include <string_view>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

struct Forward {
  Timeline timeline;
  Projection projection;

  explicit Forward(TimelineBuilder& builder, Attribution attribution = Attribution::kForward)
      : timeline(builder.build()), projection(project(timeline, {attribution, true, false})) {
    require_sound_account(timeline, projection);
    require_equal(project_slowly(timeline, {attribution, true, false}), projection);
  }
  std::string owner(std::size_t activity) const {
    const std::uint32_t owner = projection.owner[activity];
    return owner < timeline.ranges.size() ? std::string(timeline.text(timeline.ranges.name[owner])) : "(none)";
  }
  const DeviceFigures& inclusive(std::string_view name) const {
    return projection.inclusive[TimelineBuilder::range_named(timeline, name)];
  }
};

/// Two layers inside forward on thread 1, backward of both on thread 2, which has no range at all.
TimelineBuilder two_layers() {
  TimelineBuilder builder;
  builder.range("step", 0, 200).range("forward", 5, 100).range("layer.0", 10, 40).range("layer.1", 50, 90);
  builder.launch(20).kernel(30, 40).launch(60).kernel(70, 90);
  builder.on_thread(2).node(110, 130, 1, 1, 55).node(140, 160, 0, 1, 15);
  builder.launch(115).kernel(120, 160).launch(145).kernel(160, 170);
  return builder;
}

}  // namespace

TEST_CASE("on a thread of the engine a node goes on until the next one begins or the one around it ends",
          "[projection]") {
  const auto owners = [](bool is_engine) {
    TimelineBuilder builder;
    for (int layer = 0; layer < 3; ++layer)
      builder.range("layer." + std::to_string(layer), 10 * layer + 1, 10 * layer + 9);
    builder.on_thread(2);
    if (is_engine) builder.engine();
    builder.node(110, 190, 0, 1, 5).node(120, 130, 1, 1, 15).node(140, 150, 2, 1, 25);
    // Before any, inside, behind the first one inside, behind the last one inside, behind the one around them.
    for (const std::int64_t time : {100, 115, 125, 135, 145, 160, 195, 500})
      builder.launch(time).kernel(time + 5, time + 8);
    const Forward f(builder);
    std::vector<std::string> out;
    for (std::size_t row = 0; row < f.timeline.activities.size(); ++row) out.push_back(f.owner(row));
    return out;
  };
  CHECK(owners(false) ==
        std::vector<std::string>{"(none)", "layer.0", "layer.1", "layer.0", "layer.2", "layer.0", "(none)", "(none)"});
  CHECK(owners(true) == std::vector<std::string>{"(none)", "layer.0", "layer.1", "layer.1", "layer.2", "layer.2",
                                                 "layer.0", "layer.0"});
}

TEST_CASE("backward work is on the range in which its node was made", "[projection]") {
  TimelineBuilder builder = two_layers();
  const Forward f(builder);
  CHECK(f.projection.attribution == Attribution::kForward);
  CHECK(f.owner(2) == "layer.1");
  CHECK(f.owner(3) == "layer.0");
  CHECK(f.inclusive("layer.1").gpu_sum_ns == 20 + 40);
  CHECK(f.inclusive("forward").gpu_ops == 4);
  CHECK(f.inclusive("step").gpu_sum_ns == 80);
  CHECK(f.projection.pass == std::vector<Pass>{Pass::kForward, Pass::kForward, Pass::kBackward, Pass::kBackward});
  // The delay is counted from the launch, not from where the node was made.
  CHECK(f.inclusive("layer.1").launch_delay_ns == 10 + 5);
}

TEST_CASE("attribution launch leaves backward where it was launched, and auto takes forward where it can",
          "[projection]") {
  TimelineBuilder builder = two_layers();
  const Forward launch(builder, Attribution::kLaunch);
  CHECK(launch.owner(2) == "(none)");
  CHECK(launch.projection.pass.empty());
  CHECK(launch.projection.attribution == Attribution::kLaunch);
  builder = two_layers();
  CHECK(Forward(builder, Attribution::kAuto).owner(2) == "layer.1");
  builder.range("a", 0, 10).launch(5).kernel(6, 7);
  const Forward without_nodes(builder, Attribution::kForward);
  CHECK(without_nodes.projection.attribution == Attribution::kLaunch);
  CHECK(without_nodes.owner(0) == "a");
}

TEST_CASE("a backward range of the thread that runs the nodes does not take their work", "[projection]") {
  TimelineBuilder builder;
  builder.range("forward", 0, 50).range("backward", 60, 100).node(70, 90, 3, 1, 10);
  builder.launch(75).kernel(80, 85).launch(95).kernel(96, 97);
  const Forward f(builder);
  CHECK(f.owner(0) == "forward");
  CHECK(f.owner(1) == "backward");
}

TEST_CASE("gradients are added up where that was launched, as work of its own kind", "[projection]") {
  TimelineBuilder builder;
  builder.range("forward", 0, 50).range("backward", 60, 100).gradient_accumulation(70, 90);
  builder.launch(75).kernel(80, 85);
  const Forward f(builder);
  CHECK(f.owner(0) == "backward");
  CHECK(f.projection.pass[0] == Pass::kAccumulation);
}

TEST_CASE("a range that opens while a node runs owns what is launched in it: a checkpoint's recomputation",
          "[projection]") {
  TimelineBuilder builder;
  builder.range("block", 0, 50);
  builder.on_thread(2).node(60, 100, 0, 1, 10).range("block again", 65, 80);
  builder.launch(70).kernel(71, 72).launch(90).kernel(91, 92);
  // A node of the recomputed part runs inside, and had been made inside.
  builder.node(82, 88, 4, 2, 70).launch(85).kernel(93, 94);
  const Forward f(builder);
  CHECK(f.owner(0) == "block again");
  CHECK(f.projection.pass[0] == Pass::kRecompute);
  CHECK(f.owner(1) == "block");
  CHECK(f.owner(2) == "block again");
  CHECK(f.projection.pass[2] == Pass::kBackward);
}

TEST_CASE("a node that a node made counts as made where that one was: the backward of a backward", "[projection]") {
  TimelineBuilder builder;
  builder.range("layer", 0, 50).range("penalty", 120, 200);
  // The first pass, on thread 2, makes node 7 in node 0; node 8 is made in node 7 when that runs.
  builder.on_thread(2).node(60, 100, 0, 1, 10).node(130, 140, 7, 2, 70).node(150, 160, 8, 2, 135);
  builder.launch(65).kernel(66, 67).launch(132).kernel(133, 134).launch(155).kernel(156, 157);
  const Forward f(builder);
  CHECK(f.owner(0) == "layer");
  CHECK(f.owner(1) == "layer");
  CHECK(f.owner(2) == "layer");
}

TEST_CASE("a node made in a range that opened while a node ran stays there, and one made in accumulation too",
          "[projection]") {
  TimelineBuilder builder;
  builder.range("layer", 0, 50);
  builder.on_thread(2).node(60, 100, 0, 1, 10).range("again", 65, 80).node(85, 90, 7, 2, 70);
  builder.launch(87).kernel(88, 89);
  builder.gradient_accumulation(110, 150)
      .range("hook", 105, 160)
      .node(170, 180, 9, 2, 120)
      .launch(175)
      .kernel(176, 177);
  const Forward f(builder);
  CHECK(f.owner(0) == "again");
  CHECK(f.owner(1) == "hook");
}

TEST_CASE("a range that opens in a node which makes no nodes is backward work, and in accumulation a hook's",
          "[projection]") {
  TimelineBuilder builder;
  builder.range("layer", 0, 50);
  builder.on_thread(2).node(60, 100, 0, 1, 10).range("custom backward", 65, 80).launch(70).kernel(71, 72);
  builder.gradient_accumulation(110, 150).range("nccl:all_reduce", 115, 120).launch(117).kernel(130, 140);
  const Forward f(builder);
  CHECK(f.owner(0) == "custom backward");
  CHECK(f.projection.pass[0] == Pass::kBackward);
  CHECK(f.owner(1) == "nccl:all_reduce");
  CHECK(f.projection.pass[1] == Pass::kAccumulation);
}

TEST_CASE("the innermost node counts, and one whose operator is missing leaves the work where it was launched",
          "[projection]") {
  TimelineBuilder builder;
  builder.range("outer", 0, 20).range("inner", 30, 50).range("backward", 60, 100);
  builder.node(70, 95, 0, 1, 10).node(75, 80, 1, 1, 40).node(85, 90, 2, 1, 0).made_elsewhere();
  builder.launch(72).kernel(200, 201).launch(77).kernel(202, 203).launch(87).kernel(204, 205).launch(92).kernel(206,
                                                                                                                207);
  const Forward f(builder);
  CHECK(f.owner(0) == "outer");
  CHECK(f.owner(1) == "inner");
  CHECK(f.owner(2) == "backward");
  CHECK(f.projection.pass[2] == Pass::kUnmatched);
  CHECK(f.owner(3) == "outer");
}
