// SPDX-License-Identifier: MIT
#include "analysis/roofline.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

using namespace rangefinder;
using namespace rangefinder::analysis;
using rangefinder::testing::TimelineBuilder;

namespace {

constexpr char kShapes[] = "[[2, 3], [3, 4]]";  // 48 operations, 26 numbers
constexpr char kFloats[] = R"(["float", "float"])";
constexpr char kBfloats[] = R"(["c10::BFloat16", "c10::BFloat16"])";

double flops(const Work& work, Precision precision) { return work.flops[static_cast<std::size_t>(precision)]; }

WorkByShapes work_of(const Timeline& timeline, const ProjectionOptions& options = {}) {
  return work_by_shapes(timeline, project(timeline, options), options);
}

}  // namespace

TEST_CASE("an operator counts in the range that its device work belongs to", "[analysis]") {
  TimelineBuilder builder;
  builder.range("forward", 0, 100);
  builder.range("aten::mm", 10, 20).given(kShapes, kFloats).launch(15).kernel(50, 80);
  builder.range("aten::mm", 30, 40).given(kShapes, kBfloats).launch(31).kernel(80, 90).launch(35).kernel(90, 95);
  builder.range("other", 200, 300).launch(210).kernel(300, 400);
  const WorkByShapes work = work_of(builder.build());
  CHECK(work.on_device);
  CHECK(work.counted == 2);
  CHECK(flops(work.ranges[0], Precision::kFp32) == 48);
  CHECK(flops(work.ranges[0], Precision::kBf16) == 48);  // once, though it launched twice
  CHECK(work.ranges[0].all_flops() == 96);
  CHECK(work.ranges[0].bytes == 26 * 4 + 26 * 2);
  CHECK(work.ranges[0].known_ns == 30 + 10 + 5);
  CHECK(work.ranges[3].all_flops() == 0);
  REQUIRE(work.operators.size() == 1);
  CHECK(work.operators[0].calls == 2);
  CHECK(work.operators[0].work.all_flops() == 96);
  CHECK(work.operators[0].work.known_ns == 30 + 10 + 5);
}

TEST_CASE("inside an operator that is counted none is counted again", "[analysis]") {
  TimelineBuilder builder;
  builder.range("forward", 0, 100);
  builder.range("aten::scaled_dot_product_attention", 10, 60)
      .given("[[1, 1, 2, 3], [1, 1, 2, 3], [1, 1, 2, 3]]", R"(["float", "float", "float"])");
  builder.range("aten::bmm", 20, 30).given("[[1, 2, 3], [1, 3, 2]]", kFloats).launch(25).kernel(50, 80);
  const WorkByShapes work = work_of(builder.build());
  CHECK(work.counted == 1);
  CHECK(work.ranges[0].all_flops() == 2 * 2 * 3 * 2 * 2);
  CHECK(work.ranges[0].known_ns == 30);
}

TEST_CASE("backward work counts where its device time does", "[analysis]") {
  TimelineBuilder builder;
  builder.range("layer", 0, 100);                 // forward, on thread 1
  builder.on_thread(2).node(200, 300, 5, 1, 50);  // a node that was made in it
  builder.range("aten::mm", 210, 220).given(kShapes, kFloats).launch(215).kernel(230, 240);
  const Timeline timeline = builder.build();
  ProjectionOptions forward;
  forward.attribution = Attribution::kForward;
  CHECK(work_of(timeline, forward).ranges[0].all_flops() == 48);
  ProjectionOptions launch;
  launch.attribution = Attribution::kLaunch;
  CHECK(work_of(timeline, launch).ranges[0].all_flops() == 0);
}

TEST_CASE("without device work operators count in the innermost range on their thread", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("layer", 10, 50);
  builder.range("aten::mm", 20, 30).given(kShapes, kFloats);
  builder.range("aten::mm", 60, 75).given(kShapes, kFloats);
  builder.range("aten::mm", 150, 160).given(kShapes, kFloats);  // outside
  builder.on_thread(2).range("aten::mm", 20, 30).given(kShapes, kFloats);
  const WorkByShapes work = work_of(builder.build());
  CHECK_FALSE(work.on_device);
  CHECK(work.counted == 4);
  CHECK(work.ranges[0].all_flops() == 48);
  CHECK(work.ranges[0].known_ns == 15);
  CHECK(work.ranges[1].all_flops() == 48);
  CHECK(work.ranges[1].known_ns == 10);
}

TEST_CASE("operators that would count but have no shapes are told", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100);
  builder.range("aten::mm", 20, 30).given("", "");
  builder.range("aten::relu", 40, 50).given("", "");  // its bytes would
  builder.range("aten::view", 60, 70).given("", "");
  builder.range("aten::_foreach_add_", 80, 90).given("[[[2], [3]], []]", R"(["TensorList", "Scalar"])");
  const WorkByShapes work = work_of(builder.build());
  CHECK(work.counted == 0);
  CHECK(work.without_shapes == 2);
  CHECK(work.of_lists == 1);
}

TEST_CASE("the least time is the longer one of computing and of moving", "[analysis]") {
  const MachinePeaks peaks{"",
                           {{"host", "flops", "fp32", 100},
                            {"host", "flops", "fp64", 50},
                            {"host", "bandwidth", "copy", 8},
                            {"host", "bandwidth", "triad", 10},
                            {"gpu", "flops", "bf16", 1000}}};
  Work work;
  work.flops[static_cast<std::size_t>(Precision::kFp32)] = 200;
  work.flops[static_cast<std::size_t>(Precision::kFp64)] = 50;
  work.bytes = 20;
  const LeastTime least = least_time(work, peaks, "host");
  CHECK(least.compute_s == Approx(3));
  CHECK(least.memory_s == Approx(2));
  CHECK(least.seconds() == Approx(3));
  CHECK(least.complete);
  SECTION("a type without a peak leaves it open") {
    work.flops[static_cast<std::size_t>(Precision::kBf16)] = 1;
    CHECK_FALSE(least_time(work, peaks, "host").complete);
  }
  SECTION("so does a device without one") {
    CHECK_FALSE(least_time(work, peaks, "gpu").complete);
    CHECK_FALSE(least_time(work, peaks, "nobody").complete);
  }
  SECTION("and work of which nothing is known") { CHECK_FALSE(least_time(Work{}, peaks, "host").complete); }
}
