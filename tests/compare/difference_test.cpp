// SPDX-License-Identifier: MIT
#include "compare/difference.hpp"

#include "compare/random_run.hpp"
#include "compare/written.hpp"
#include "support/catch.hpp"
#include "support/json_value.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/compare.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::TimelineBuilder;
using rangefinder::testing::written;

namespace {

RunDifference difference(const Timeline& before, const Timeline& after) {
  const compare::Run a = compare::figures_of(before), b = compare::figures_of(after);
  return compare::difference_of({&a, 1}, {&b, 1});
}

const TimeDifference& row(const RunDifference& difference, DifferenceBy by, const std::string& name) {
  for (const TimeDifference& row : difference.times)
    if (row.by == by && row.name == name) return row;
  throw std::invalid_argument("no row " + name);
}
const TimeDifference& row(RunDifference&& difference, DifferenceBy by, const std::string& name) = delete;

/// A step of 100 ns: the host launches at 10 and 20, the device works from 30 on.
TimelineBuilder step_with(std::int64_t first_ns, std::int64_t second_ns,
                          const char* kernel = "ampere_sgemm_128x64_tn") {
  TimelineBuilder builder;
  builder.step(1, 0, 100).range("forward", 0, 50).range("aten::addmm", 5, 45).of_kind(RangeKind::kOperator);
  builder.launch(10)
      .kernel(30, 30 + first_ns, kernel)
      .launch(20)
      .kernel(30 + first_ns, 30 + first_ns + second_ns, kernel);
  return builder;
}

}  // namespace

TEST_CASE("a run compared with itself has no difference", "[compare]") {
  const Timeline timeline = step_with(10, 10).build();
  const RunDifference same = difference(timeline, timeline);
  CHECK(same.nothing_found());
  CHECK(written(same, DiffFormat::kText).find("nothing is different") != std::string::npos);
  CHECK(written(same, DiffFormat::kMarkdown).find("Nothing is different.") != std::string::npos);
}

TEST_CASE("a slower kernel is found in the path, operator and family that it belongs to", "[compare]") {
  // The step ends when it ended: what the kernels take longer the device idles less.
  const RunDifference found = difference(step_with(10, 10).build(), step_with(10, 15).build());
  CHECK_FALSE(found.nothing_found());
  CHECK(row(found, DifferenceBy::kStep, "step").change_ns() == 0);
  for (const auto& [by, name] : {std::pair(DifferenceBy::kOperator, "aten::addmm"),
                                 {DifferenceBy::kPath, "forward"},
                                 {DifferenceBy::kKernelFamily, "GEMM"}}) {
    INFO(name);
    CHECK(row(found, by, name).change_ns() == 5);
    CHECK(row(found, by, name).division.kernel_ns == 5);
  }
}

TEST_CASE("kernels of another architecture are compared under the operator that launched them", "[compare]") {
  const RunDifference found = difference(step_with(10, 10, "ampere_sgemm_128x64_tn").build(),
                                         step_with(8, 8, "some_kernel_nobody_knows").build());
  const TimeDifference& addmm = row(found, DifferenceBy::kOperator, "aten::addmm");
  CHECK(addmm.change_ns() == -4);
  CHECK(addmm.division.kernel_ns == -4);
  CHECK(addmm.division.count_ns == 0);
}

TEST_CASE("what is new or gone is a matter of count", "[compare]") {
  const auto run = [](bool logs) {
    TimelineBuilder builder;
    builder.step(1, 0, 100).range("forward", 0, 40);
    if (logs) builder.range("log", 60, 90);
    return builder.build();
  };
  const RunDifference made = difference(run(false), run(true));
  const TimeDifference& log = row(made, DifferenceBy::kPath, "log");
  CHECK(log.change == PathChange::kNew);
  CHECK(log.change_ns() == 30);
  CHECK(log.division.count_ns == 30);
  const RunDifference gone = difference(run(true), run(false));
  CHECK(row(gone, DifferenceBy::kPath, "log").change == PathChange::kGone);
  CHECK(row(gone, DifferenceBy::kPath, "log").division.count_ns == -30);
}

TEST_CASE("calls that take longer are the host's, and more calls are count", "[compare]") {
  const auto run = [](std::int64_t calls, std::int64_t length) {
    TimelineBuilder builder;
    builder.step(1, 0, 100);
    for (std::int64_t i = 0; i < calls; ++i) builder.range("parse", i * 25, i * 25 + length);
    return builder.build();
  };
  const RunDifference slower = difference(run(2, 10), run(2, 13)), more = difference(run(2, 10), run(3, 10));
  CHECK(row(slower, DifferenceBy::kPath, "parse").division.host_ns == 6);
  CHECK(row(slower, DifferenceBy::kPath, "parse").division.count_ns == 0);
  CHECK(row(more, DifferenceBy::kPath, "parse").division.count_ns == 10);
  CHECK(row(more, DifferenceBy::kPath, "parse").division.host_ns == 0);
}

TEST_CASE("a path below a new level is compared with what it was", "[compare]") {
  const auto run = [](bool has_level, std::int64_t length) {
    TimelineBuilder builder;
    builder.step(1, 0, 100).range("train", 0, 95);
    if (has_level) builder.range("model", 5, 90);
    builder.range("attention", 10, 10 + length).range("mlp", 60, 80);
    return builder.build();
  };
  const RunDifference found = difference(run(false, 30), run(true, 36));
  const TimeDifference& attention = row(found, DifferenceBy::kPath, "train/model/attention");
  CHECK(attention.was == "train/attention");
  CHECK(attention.change == PathChange::kMoved);
  CHECK(attention.change_ns() == 6);
  // The level itself took 85 ns, of which 50 were there before under another path.
  const TimeDifference& model = row(found, DifferenceBy::kPath, "train/model");
  CHECK(model.change == PathChange::kNew);
  CHECK(model.baseline_ns == 50);
  CHECK(model.candidate_ns == 85);
  CHECK(row(found, DifferenceBy::kPath, "train").change_ns() == 0);
}

TEST_CASE("several runs a side count as their mean", "[compare]") {
  const auto run = [](std::int64_t length) {
    return compare::figures_of(TimelineBuilder().step(1, 0, length).range("work", 0, length).build());
  };
  const std::vector<compare::Run> before{run(100), run(120)}, after{run(140)};
  const RunDifference found = compare::difference_of(before, after);
  CHECK(row(found, DifferenceBy::kStep, "step").baseline_ns == 110);
  CHECK(row(found, DifferenceBy::kPath, "work").change_ns() == 30);
}

namespace {

/// Runs of thirty steps each, in which `parse` takes that long and some more from step to step, and `rest` always the
/// same. In every fifth step something holds `parse` up.
std::vector<compare::Run> runs_of(std::int64_t parse_ns, std::int64_t held_up_ns = 0) {
  std::vector<compare::Run> runs;
  for (std::int64_t run = 0; run < 5; ++run) {
    TimelineBuilder builder;
    std::int64_t at = 0;
    for (std::int64_t step = 0; step < 30; ++step) {
      const std::int64_t parse = parse_ns + (step * 7 + run * 3) % 11 * 10 + (step % 5 == 4 ? held_up_ns : 0);
      builder.step(step, at, at + parse + 50'000);
      builder.range("parse", at, at + parse).range("rest", at + parse, at + parse + 50'000);
      at += parse + 50'000;
    }
    runs.push_back(compare::figures_of(builder.build()));
  }
  return runs;
}

}  // namespace

TEST_CASE("rows say whether a change is more than chance", "[compare]") {
  const RunDifference slower = compare::difference_of(runs_of(10'000), runs_of(11'000));
  CHECK(row(slower, DifferenceBy::kPath, "parse").verdict == ChangeVerdict::kWorse);
  CHECK(row(slower, DifferenceBy::kPath, "rest").verdict == ChangeVerdict::kSame);
  const auto change = row(slower, DifferenceBy::kPath, "parse").fast_change;
  REQUIRE(change);
  CHECK(change->change_ns == 1'000);
  CHECK(change->low_ns <= 1'000);
  CHECK(change->high_ns >= 1'000);
  CHECK(change->low_ns > 900);
  const RunDifference faster = compare::difference_of(runs_of(11'000), runs_of(10'000));
  CHECK(row(faster, DifferenceBy::kPath, "parse").verdict == ChangeVerdict::kBetter);
  SECTION("but not of one or two steps") {
    const RunDifference few = difference(step_with(10, 10).build(), step_with(10, 50).build());
    CHECK(row(few, DifferenceBy::kOperator, "aten::addmm").verdict == ChangeVerdict::kCannotTell);
    CHECK_FALSE(row(few, DifferenceBy::kOperator, "aten::addmm").fast_change);
    CHECK(written(few, DiffFormat::kText).find("Change fast") == std::string::npos);
    CHECK(few.notes.back().find("fewer than three steps") != std::string::npos);
  }
}

TEST_CASE("the change that is judged stands beside the verdict, since that of the means is another", "[compare]") {
  // Some steps of the candidate are held up: their mean says so, their lowest decile does not.
  const RunDifference found = compare::difference_of(runs_of(10'000), runs_of(10'000, 60'000));
  const TimeDifference& parse = row(found, DifferenceBy::kPath, "parse");
  CHECK(parse.change_ns() > 5'000);
  CHECK(parse.verdict == ChangeVerdict::kSame);
  REQUIRE(parse.fast_change);
  CHECK(parse.fast_change->change_ns < 50);
  CHECK(parse.fast_change->high_ns < parse.change_ns());
  CHECK(written(found, DiffFormat::kText).find("Change fast") != std::string::npos);
  const auto json = rangefinder::testing::JsonValue::parse(written(found, DiffFormat::kJson));
  for (const auto& each : json["rows"].items())
    if (each["name"].text() == "parse") CHECK(each["change_fast_ns"].integer() == parse.fast_change->change_ns);
}

TEST_CASE("memory at the peak is compared by range and operator", "[compare]") {
  const auto run = [](std::uint64_t bytes) {
    TimelineBuilder builder;
    builder.step(1, 0, 100).range("ProfilerStep#1", 0, 100).range("forward", 10, 50);
    builder.memory(MemoryAction::kAllocate, 5, 0x10, 64, 0).in_memory(64);
    builder.memory(MemoryAction::kAllocate, 20, 0x1000, bytes, 0).in_memory(static_cast<std::int64_t>(64 + bytes));
    builder.memory(MemoryAction::kFree, 40, 0x1000, bytes, 0).in_memory(64);
    return builder.build();
  };
  const RunDifference found = difference(run(1'000), run(1'500));
  REQUIRE(found.memory.size() >= 2);
  CHECK(found.memory[0].by == DifferenceBy::kPath);
  CHECK(found.memory[0].name == "forward");
  CHECK(found.memory[0].change_bytes() == 500);
  CHECK(found.memory[1].name.empty());  // a step has another name in each run
  CHECK(found.memory[1].change_bytes() == 0);
  CHECK(found.memory[1].baseline_bytes == 64);
  CHECK(written(found, DiffFormat::kText).find("Memory at the peak, by range") != std::string::npos);
  CHECK_FALSE(found.nothing_found());
  const auto json = rangefinder::testing::JsonValue::parse(written(found, DiffFormat::kJson));
  const auto& forward = json["memory"].items().front();
  CHECK(forward["by"].text() == "range");
  CHECK(forward["name"].text() == "forward");
  CHECK(forward["candidate_bytes"].integer() == 1'500);
}

TEST_CASE("sides with nothing in them can be compared", "[compare]") {
  const Timeline nothing, something = step_with(10, 10).build();
  CHECK(difference(nothing, nothing).nothing_found());
  for (const RunDifference& found : {difference(nothing, something), difference(something, nothing)}) {
    CHECK_FALSE(found.notes.empty());
    for (const DiffFormat format : {DiffFormat::kText, DiffFormat::kCsv, DiffFormat::kMarkdown, DiffFormat::kJson})
      CHECK_FALSE(written(found, format).empty());
  }
}

TEST_CASE("names do no harm in Markdown", "[compare]") {
  const auto run = [](const char* name, std::int64_t length) {
    return TimelineBuilder().step(1, 0, 100).range(name, 0, length).build();
  };
  const std::string text = written(difference(run("a|b<script>", 10), run("a|b<script>", 20)), DiffFormat::kMarkdown);
  CHECK(text.find("a\\|b\\<script>") != std::string::npos);
}

TEST_CASE("parts add up to the change in every row", "[compare][property]") {
  for (const std::uint64_t seed : rangefinder::testing::property_seeds("parts of differences", 400)) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    std::vector<compare::Run> before, after;
    for (std::uint64_t i = 1 + random() % 2; i > 0; --i)
      before.push_back(compare::figures_of(rangefinder::testing::random_run(random)));
    for (std::uint64_t i = 1 + random() % 2; i > 0; --i)
      after.push_back(compare::figures_of(rangefinder::testing::random_run(random)));
    const RunDifference found = compare::difference_of(before, after);
    std::int64_t step = 0;
    for (const TimeDifference& time : found.times) {
      REQUIRE(time.division.sum() == time.change_ns());
      if (time.by == DifferenceBy::kStep) step = time.change_ns();
    }
    // The step as its own figures have it.
    const auto mean = [](const std::vector<compare::Run>& runs) {
      std::int64_t sum = 0;
      std::uint64_t steps = 0;
      for (const compare::Run& run : runs) {
        for (const compare::Cell& cell : run.cells) sum += cell.amounts.time_ns();
        steps += run.counted_steps();
      }
      return steps == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(steps);
    };
    CHECK(std::abs(static_cast<double>(step) - (mean(after) - mean(before))) <= 1.0);
    CHECK(written(found, DiffFormat::kText).size() > 10);
  }
}

TEST_CASE("a run and itself are the same, whatever it is", "[compare][property]") {
  for (const std::uint64_t seed : rangefinder::testing::property_seeds("runs with themselves", 300)) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const Timeline timeline =
        random() % 2 == 0 ? rangefinder::testing::random_run(random) : rangefinder::testing::hostile_run(random);
    CHECK(difference(timeline, timeline).nothing_found());
  }
}

TEST_CASE("parts of what a file claims add up, too", "[compare][property]") {
  for (const std::uint64_t seed : rangefinder::testing::property_seeds("hostile differences", 300)) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const RunDifference found =
        difference(rangefinder::testing::hostile_run(random), rangefinder::testing::hostile_run(random));
    for (const TimeDifference& time : found.times) REQUIRE(time.division.sum() == time.change_ns());
    for (const DiffFormat format : {DiffFormat::kText, DiffFormat::kCsv, DiffFormat::kMarkdown, DiffFormat::kJson})
      CHECK_FALSE(written(found, format).empty());
  }
}
