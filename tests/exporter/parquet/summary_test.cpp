// SPDX-License-Identifier: MIT
#include "exporter/parquet/summary.hpp"

#include "exporter/parquet/hive.hpp"
#include "exporter/parquet/range_paths.hpp"
#include "exporter/parquet/step_marks.hpp"
#include "support/catch.hpp"

#include <rangefinder/projection.hpp>

#include <string>

namespace rangefinder::parquet {
namespace {

constexpr auto kOutside = static_cast<std::uint32_t>(Unowned::kOutside);

SummedActivity kernel(std::int64_t begin_ns, std::int64_t end_ns, std::int64_t step, std::uint32_t owner,
                      bool communication = false) {
  return {.begin_ns = begin_ns,
          .end_ns = end_ns,
          .step = step,
          .owner = owner,
          .name = StringId{1},
          .kind = ActivityKind::kKernel,
          .communication = communication,
          .bytes = 0,
          .launch_delay_ns = 5};
}

TEST_CASE("a time is in the step that was noted last", "[exporter][parquet]") {
  StepMarks marks;
  CHECK(marks.number_at(5) == kNoTime);
  marks.add(10, 0);
  marks.add(20, 1);
  CHECK(marks.number_at(9) == kNoTime);
  CHECK(marks.number_at(10) == 0);
  CHECK(marks.number_at(19) == 0);
  CHECK(marks.number_at(20) == 1);
  SECTION("and in none in a pause") {
    marks.add(30, kNoTime);
    marks.add(40, 7);
    CHECK(marks.number_at(35) == kNoTime);
    CHECK(marks.number_at(1'000) == 7);
    CHECK(marks.number_at(25) == 1);
  }
  SECTION("whatever the order in which threads note them") {
    marks.add(15, 5);
    CHECK(marks.number_at(14) == 0);
    CHECK(marks.number_at(16) == 5);
    CHECK(marks.number_at(20) == 1);
  }
}

TEST_CASE("a path is known by the names around it", "[exporter][parquet]") {
  RangePaths paths;
  const std::uint32_t step = paths.add(kNone, StringId{1}, "step");
  const std::uint32_t forward = paths.add(step, StringId{2}, "forward");
  CHECK(paths.add(step, StringId{2}, "forward") == forward);
  CHECK(paths.add(kNone, StringId{2}, "forward") != forward);
  CHECK(paths.text(forward) == "step/forward");
  CHECK(paths.depth(forward) == 1);
  CHECK(paths.parent(forward) == step);
}

TEST_CASE("endless recursion has an end", "[exporter][parquet]") {
  RangePaths paths;
  std::uint32_t path = kNone;
  for (int depth = 0; depth < 1'000; ++depth) path = paths.add(path, StringId{1}, "f");
  CHECK(paths.size() == RangePaths::kMostDepth);
  CHECK(paths.depth(path) == RangePaths::kMostDepth - 1);
}

TEST_CASE("cells of a step and a path add up to all device time", "[exporter][parquet]") {
  RangePaths paths;
  const std::uint32_t step = paths.add(kNone, StringId{1}, "step");
  const std::uint32_t forward = paths.add(step, StringId{2}, "forward");
  const std::uint32_t layer = paths.add(forward, StringId{3}, "layer");
  Summary summary;
  summary.add(kernel(0, 10, 0, layer));
  summary.add(kernel(10, 30, 0, layer));
  summary.add(kernel(30, 37, 1, step));
  summary.add(kernel(40, 50, kNoTime, kOutside));
  summary.add_run(0, forward, 1'000);
  const Summary::Cells cells = summary.take_all(paths);
  CHECK(summary.cell_count() == 0);
  std::int64_t sum_ns = 0;
  for (const auto& [cell, figures] : cells) sum_ns += figures.gpu_sum_ns;
  CHECK(sum_ns == 47);
  CHECK(summary.account().total.gpu_sum_ns == 47);
  CHECK(summary.account().owned.gpu_sum_ns == 37);
  CHECK(summary.account().outside.gpu_ops == 1);
  CHECK(cells.at({0, layer}).gpu_sum_ns == 30);
  CHECK(cells.at({0, forward}).gpu_sum_ns == 0);
  CHECK(cells.at({0, forward}).gpu_inclusive_ns == 30);
  CHECK(cells.at({0, forward}).host_ns == 1'000);
  CHECK(cells.at({0, step}).gpu_inclusive_ns == 30);  // it has no work of its own in that step
  CHECK(cells.at({1, step}).gpu_inclusive_ns == 7);
}

TEST_CASE("cells of earlier steps are taken out, and what comes later adds up with them", "[exporter][parquet]") {
  RangePaths paths;
  const std::uint32_t step = paths.add(kNone, StringId{1}, "step");
  const std::uint32_t layer = paths.add(step, StringId{2}, "layer");
  Summary summary;
  for (std::int64_t number = 0; number < 40; ++number) summary.add(kernel(0, 10, number, layer));
  const Summary::Cells earlier = summary.take_earlier(paths);
  CHECK(earlier.size() == 2 * 24);
  CHECK(earlier.at({0, step}).gpu_inclusive_ns == 10);
  CHECK(earlier.find({24, layer}) == earlier.end());
  CHECK(summary.cell_count() == 16);
  summary.add(kernel(0, 7, 39, layer));
  summary.add(kernel(0, 5, 0, layer));
  const Summary::Cells rest = summary.take_all(paths);
  CHECK(rest.at({0, layer}).gpu_sum_ns == 5);
  CHECK(rest.at({0, step}).gpu_inclusive_ns == 5);
  CHECK(rest.at({39, step}).gpu_inclusive_ns == 17);
  CHECK(summary.account().total.gpu_sum_ns == 412);
}

TEST_CASE("a step's exposed communication is what no other work hides", "[exporter][parquet]") {
  Summary summary;
  summary.add(kernel(0, 100, 3, kOutside));
  summary.add(kernel(80, 150, 3, kOutside, true));
  summary.add_step(3, 0, 160, 8);
  const Summary::StepFigures& step = summary.steps().at(3);
  CHECK(step.busy.busy == 150);
  CHECK(step.busy.busy - step.work.busy == 50);
  CHECK(step.gpu_sum_ns == 170);
  CHECK((step.finished && step.items == 8));
}

TEST_CASE("folders of Hive hold any name", "[exporter][parquet]") {
  CHECK(hive_value("bert-large_2.1") == "bert-large_2.1");
  CHECK(hive_value("a/../b=c%") == "a%2F..%2Fb%3Dc%25");
  CHECK(hive_value("ü") == "%C3%BC");
  CHECK(hive_value("") == "_");
  CHECK(hive_folder("out", "detail/calls", {"j", "r", 3}) == "out/detail/calls/job=j/run=r/rank=3");
  CHECK(run_of_time(1'764'265'914'000'000'000) == "20251127T175154Z");
  CHECK(run_of_time(kNoTime) == "unknown");
}

TEST_CASE("a folder of Hive is never one that leads elsewhere", "[exporter][parquet]") {
  // The key and its "=" stand in front, so that ".." is no name of a folder.
  CHECK(hive_folder("out", "steps", {"..", "..", 0}) == "out/steps/job=../run=../rank=0");
}

}  // namespace
}  // namespace rangefinder::parquet
