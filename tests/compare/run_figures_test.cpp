// SPDX-License-Identifier: MIT
#include "compare/run_figures.hpp"

#include "compare/random_run.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/analysis/breakdown.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::compare;
using rangefinder::testing::TimelineBuilder;

namespace {

/// All that a subject has, over all steps.
Amounts total_of(const Run& run, SubjectKind kind, const std::string& name) {
  Amounts total;
  for (const Subject& subject : run.subjects)
    if (subject.kind == kind && name_of(run, subject) == name)
      for (const auto& [step, amounts] : subject.by_step) total.add(amounts);
  return total;
}

Amounts step_total(const Run& run) { return total_of(run, SubjectKind::kStep, "step"); }

}  // namespace

TEST_CASE("each moment of a step counts once", "[compare]") {
  // Device: gemm 20-40, nccl 30-60, memcpy 50-70, nothing 70-100.
  const Run run = figures_of(TimelineBuilder()
                                 .step(1, 0, 100)
                                 .range("train", 0, 100)
                                 .range("forward", 5, 60)
                                 .launch(10)
                                 .kernel(20, 40, "ampere_sgemm_128x64_tn")
                                 .on_stream(8)
                                 .launch(12)
                                 .kernel(30, 60, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
                                 .on_stream(9)
                                 .launch(14)
                                 .memcpy(50, 70, 64)
                                 .build());
  REQUIRE(run.steps.size() == 1);
  CHECK(step_total(run).time_ns() == 100);
  CHECK(step_total(run).work_ns == 20 + 30 + 20);
  CHECK(step_total(run).hidden_ns == 10 + 10);
  CHECK(run.steps[0].computation_ns == 20);
  CHECK(run.steps[0].exposed_communication_ns == 20);
  CHECK(run.steps[0].exposed_memcpy_ns == 10);
  const Amounts forward = total_of(run, SubjectKind::kPath, "train/forward");
  CHECK(forward.busy_ns() == 50);
  CHECK(forward.ops == 3);
  CHECK(forward.calls == 1);
  SECTION("what is hidden belongs to the work that is hidden") {
    CHECK(total_of(run, SubjectKind::kKernelFamily, "GEMM").hidden_ns == 0);
    CHECK(total_of(run, SubjectKind::kKernelFamily, "communication").hidden_ns == 10);
    CHECK(total_of(run, SubjectKind::kKernelFamily, "copy").hidden_ns == 10);
  }
  SECTION("time before the first launch is the host's, where its thread is") {
    CHECK(forward.host_ns == 15);
    CHECK(total_of(run, SubjectKind::kPath, "train").host_ns == 20);
    CHECK(step_total(run).idle_ns == 30);
  }
}

TEST_CASE("without a device the time of steps is the host's", "[compare]") {
  const Run run = figures_of(TimelineBuilder()
                                 .step(1, 0, 100)
                                 .step(2, 100, 220)
                                 .range("data", 10, 30)
                                 .range("forward", 30, 90)
                                 .range("forward", 110, 200)
                                 .range("aten::addmm", 40, 60)
                                 .of_kind(RangeKind::kOperator)
                                 .build());
  CHECK(step_total(run).host_ns == 220);
  CHECK(total_of(run, SubjectKind::kPath, "data").host_ns == 20);
  CHECK(total_of(run, SubjectKind::kPath, "forward").host_ns == 150);
  CHECK(total_of(run, SubjectKind::kPath, "forward").calls == 2);
  CHECK(total_of(run, SubjectKind::kOperator, "aten::addmm").host_ns == 20);
  CHECK(series_of(run, "path:forward") == std::vector<double>{60, 90});
  CHECK(series_of(run, "step") == std::vector<double>{100, 120});
  CHECK(series_of(run, "path.calls:forward") == std::vector<double>{1, 1});
  CHECK(series_of(run, "path:nowhere").empty());
}

TEST_CASE("a path does not hold the step that it is in", "[compare]") {
  const Run run = figures_of(TimelineBuilder()
                                 .step(1, 0, 100)
                                 .range("ProfilerStep#1", 0, 100)
                                 .range("forward", 10, 90)
                                 .step(2, 100, 200)
                                 .range("ProfilerStep#2", 100, 200)
                                 .range("forward", 110, 190)
                                 .build());
  REQUIRE(run.paths.size() == 1);
  CHECK(path_text(run, 0) == "forward");
}

TEST_CASE("a range around many steps is not called in them", "[compare]") {
  const Run run =
      figures_of(TimelineBuilder().range("epoch", 0, 300).step(1, 10, 100).step(2, 100, 200).step(3, 200, 290).build());
  CHECK(total_of(run, SubjectKind::kPath, "epoch").calls == 0);
  CHECK(total_of(run, SubjectKind::kPath, "epoch").host_ns == 280);
}

TEST_CASE("without steps all of a run is one", "[compare]") {
  const Run run = figures_of(TimelineBuilder().range("work", 100, 350).build());
  CHECK_FALSE(run.has_steps);
  REQUIRE(run.steps.size() == 1);
  CHECK(series_of(run, "step") == std::vector<double>{250});
}

TEST_CASE("a run with nothing in it has no step", "[compare]") {
  const Run run = figures_of(Timeline());
  CHECK(run.steps.empty());
  CHECK(run.counted_steps() == 0);
  CHECK(metrics_of(run).empty());
  CHECK(series_of(run, "step").empty());
}

TEST_CASE("ranks of a job are put together by the numbers of their steps", "[compare]") {
  TimelineBuilder builder;
  builder.step(1, 0, 100).range("forward", 0, 80).step(2, 100, 200).range("forward", 100, 160);
  builder.on_process(2).step(2, 90, 200).range("forward", 90, 190);
  const Run run = figures_of(builder.build());
  REQUIRE(run.steps.size() == 2);
  CHECK(run.steps[0].places == 1);
  CHECK(run.steps[1].places == 2);
  CHECK(series_of(run, "step") == std::vector<double>{100, 105});
  CHECK(series_of(run, "path:forward") == std::vector<double>{80, 80});
  CHECK(run.counted_steps() == 3);
}

TEST_CASE("warm-up is known, and does not count", "[compare]") {
  TimelineBuilder builder;
  std::int64_t at = 0;
  for (int i = 0; i < 30; ++i) {
    const std::int64_t length = (i < 2 ? 5'000'000 : 1'000'000) + i % 3 * 1'000;
    builder.step(i, at, at + length).range("work", at, at + length);
    at += length;
  }
  const Run run = figures_of(builder.build());
  CHECK(run.steps[1].warm_up);
  CHECK_FALSE(run.steps[2].warm_up);
  CHECK(run.counted_steps() == 28);
  CHECK(series_of(run, "step").size() == 28);
  Amounts cells;
  for (const Cell& cell : run.cells) cells.add(cell.amounts);
  CHECK(cells.host_ns == step_total(run).host_ns - 2 * 5'000'000 - 1'000);
}

TEST_CASE("all cells, and the rows of each kind, add up to the steps", "[compare][property]") {
  for (const std::uint64_t seed : rangefinder::testing::property_seeds("figures of runs", 300)) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const Timeline timeline = rangefinder::testing::random_run(random);
    const Run run = figures_of(timeline);
    Amounts counted, of_cells, of_operators, outside;
    for (const Subject& subject : run.subjects)
      for (const auto& [step, amounts] : subject.by_step) {
        if (!run.steps[step].counts()) continue;
        if (subject.kind == SubjectKind::kStep) counted.add(amounts);
        if (subject.kind == SubjectKind::kOperator) of_operators.add(amounts);
      }
    for (const Cell& cell : run.cells) {
      of_cells.add(cell.amounts);
      if (cell.op == kNone) outside.add(cell.amounts);
    }
    of_operators.add(outside);
    of_cells.calls = of_operators.calls = 0;  // a step has none
    REQUIRE(of_cells == counted);
    REQUIRE(of_operators == counted);
    // A step is as long as its clock says, on each of its places.
    std::int64_t length = 0;
    for (const Subject& subject : run.subjects)
      if (subject.kind == SubjectKind::kStep)
        for (const auto& [step, amounts] : subject.by_step) length += amounts.time_ns();
    std::int64_t expected = 0;
    BreakdownOptions options;
    options.by = run.has_steps ? BreakdownBy::kStep : BreakdownBy::kDevice;
    std::int64_t computation = 0, communication = 0, memcpy = 0, busy = 0;
    for (const BreakdownRow& row : breakdown(timeline, options)) {
      if (run.has_steps && !row.step) continue;
      computation += row.computation_ns;
      communication += row.exposed_communication_ns;
      memcpy += row.exposed_memcpy_ns;
      busy += row.busy_ns;
      expected += row.total_ns;
    }
    std::int64_t classes[3] = {};
    for (const RunStep& step : run.steps) {
      classes[0] += step.computation_ns;
      classes[1] += step.exposed_communication_ns;
      classes[2] += step.exposed_memcpy_ns;
    }
    REQUIRE(classes[0] == computation);
    REQUIRE(classes[1] == communication);
    REQUIRE(classes[2] == memcpy);
    const bool has_device = timeline.activities.size() != 0;
    if (has_device) REQUIRE(step_total(run).busy_ns() == busy);
    // Without steps the breakdown takes the time from the first work to the last, and this all of the run.
    if (run.has_steps && has_device) REQUIRE(length == expected);
  }
}

TEST_CASE("times that a file claims do no harm to figures of runs", "[compare][property]") {
  for (const std::uint64_t seed : rangefinder::testing::property_seeds("hostile runs", 300)) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const Run run = figures_of(rangefinder::testing::hostile_run(random));
    for (const Metric& metric : metrics_of(run, true)) REQUIRE(series_of(run, metric.name).size() <= run.steps.size());
  }
}
