// SPDX-License-Identifier: MIT
#include "analysis/step_work.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using rangefinder::testing::TimelineBuilder;

namespace {

constexpr char kProductShapes[] = "[[1000, 1000], [1000, 1000]]";  // 2 GFLOP
constexpr char kProductTypes[] = R"(["float", "float"])";
constexpr char kHalves[] = R"(["c10::Half", "c10::Half"])";

std::vector<StepWork> step_work_of(const Timeline& timeline) {
  return work_of_steps(timeline, analyse_steps(timeline, project(timeline, {})).steps);
}

}  // namespace

TEST_CASE("a step has the operations of the operators that began in it, on all threads of its process", "[analysis]") {
  TimelineBuilder builder;
  builder.step(1, 0, 100).step(2, 100, 200);
  builder.range("aten::mm", 10, 20).given(kProductShapes, kProductTypes);
  builder.range("aten::mm", 95, 110).given(kProductShapes, kProductTypes);  // ends in the next one
  builder.on_thread(5).range("aten::mm", 120, 130).given(kProductShapes, kHalves);
  builder.range("aten::mm", 250, 260).given(kProductShapes, kHalves);  // in none
  builder.on_process(2).range("aten::mm", 130, 140).given(kProductShapes, kProductTypes);
  const std::vector<StepWork> work = step_work_of(builder.build());
  REQUIRE(work.size() == 2);
  CHECK(work[0].work.all_flops() == 4e9);
  CHECK(work[1].work.all_flops() == 2e9);
  CHECK(work[1].work.flops[static_cast<std::size_t>(Precision::kFp16)] == 2e9);
  CHECK(work[0].devices == 0);
}

TEST_CASE("utilisation is the least time of the operations by the time of the step", "[analysis]") {
  const MachinePeaks peaks{"c.json", {{"host", "flops", "fp32", 1e12}, {"host", "flops", "fp16", 4e12}}, {}};
  StepWork step;
  step.work.flops[static_cast<std::size_t>(Precision::kFp32)] = 2e9;  // 2 ms
  CHECK(utilisation_of(step, 10'000'000, peaks, "host").value_or(0) == Approx(0.2));
  step.work.flops[static_cast<std::size_t>(Precision::kFp16)] = 4e9;  // 1 ms more
  CHECK(utilisation_of(step, 10'000'000, peaks, "host").value_or(0) == Approx(0.3));
  step.devices = 2;
  CHECK(utilisation_of(step, 10'000'000, peaks, "host").value_or(0) == Approx(0.15));
  CHECK_FALSE(utilisation_of(step, 0, peaks, "host").has_value());
  CHECK_FALSE(utilisation_of(step, 10, peaks, "GPU 9000").has_value());
  step.work.flops[static_cast<std::size_t>(Precision::kBf16)] = 1;  // a type without a peak
  CHECK_FALSE(utilisation_of(step, 10'000'000, peaks, "host").has_value());
  CHECK_FALSE(utilisation_of(StepWork(), 10, peaks, "host").has_value());
}

TEST_CASE("devices of a process that worked share its step", "[analysis]") {
  TimelineBuilder builder;
  builder.step(1, 0, 100).range("aten::mm", 10, 20).given(kProductShapes, kProductTypes);
  builder.on_device(0).launch(12).kernel(20, 30).on_device(3).launch(15).kernel(30, 40);
  const std::vector<StepWork> work = step_work_of(builder.build());
  REQUIRE(work.size() == 1);
  CHECK(work[0].devices == 2);
}

TEST_CASE("without shapes no step has operations", "[analysis]") {
  TimelineBuilder builder;
  builder.step(1, 0, 100).range("aten::mm", 10, 20).given("", "");
  builder.range("aten::relu", 30, 40).given("[[7, 3]]", kProductTypes);  // bytes alone
  CHECK(step_work_of(builder.build()).empty());
}
