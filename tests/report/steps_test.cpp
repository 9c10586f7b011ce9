// SPDX-License-Identifier: MIT
//
// The view steps.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Twenty steps of 100 us, of which the first took ten times as long and the last was thrown away.
Timeline loop() {
  TimelineBuilder builder;
  std::int64_t now = 0;
  for (int step = 0; step < 20; ++step) {
    const std::int64_t length = step == 0 ? 1'000'000 : 100'000;
    builder.step(step, now, now + length, 64);
    builder.range("data", now, now + 10'000).range("forward", now + 10'000, now + 40'000);
    builder.launch(now + 11'000).kernel(now + 20'000, now + 70'000);
    if (step == 19) builder.mark("skipped_step", now + 99'000);
    now += length;
  }
  return builder.build();
}

std::string steps_report(const Timeline& timeline, ReportFormat format, std::string view = "steps",
                         std::string step_names = {}) {
  ReportOptions options;
  options.view = std::move(view);
  options.format = format;
  options.step_names = std::move(step_names);
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("one row per step, with its parts and state", "[report]") {
  const std::string csv = steps_report(loop(), ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv,
            "Step,State,Time (ns),Data wait (ns),Forward (ns),Backward (ns),Optimizer (ns),Checkpoint (ns),"
            "Recompute (ns),Other (ns),GPU busy (ns),GPU idle (ns),FLOPs,GFLOP/s,MFU (%),Items,Items/s,Peak memory "
            "(B),Begin (ns)\n"));
  CHECK(has(csv, "\n0,warm-up,1000000,10000,30000,0,0,0,0,960000,50000,950000,,,,64,64000.0,,0\n"));
  CHECK(has(csv, "\n7,,100000,10000,30000,0,0,0,0,60000,50000,50000,,,,64,640000.0,,1600000\n"));
  CHECK(has(csv, "\n19,skipped,100000,"));
}

TEST_CASE("below the steps stand percentiles, warm-up and goodput", "[report]") {
  const std::string text = steps_report(loop(), ReportFormat::kText);
  INFO(text);
  CHECK(has(text,
            "20 steps, the first 1 of them warm-up, 1 skipped; without warm-up p50 100.0 us, p95 100.0 us, p99 "
            "100.0 us, 640000.0 items/s"));
  CHECK(has(text,
            "goodput 59.0 % of 2.900 ms; lost: data wait 6.9 %, skipped steps 3.1 %, warm-up 31.0 %; "
            "goodput: loop time minus the losses listed here; GPU idle time is not one of them"));
  CHECK_FALSE(has(text, "Backward"));     // no step has any
  CHECK_FALSE(has(text, "Peak memory"));  // likewise
  const std::string json = steps_report(loop(), ReportFormat::kJson);
  CHECK(has(json, "goodput 59.0 %"));
}

TEST_CASE("the summary has one row per figure and one per loss", "[report]") {
  const std::string csv = steps_report(loop(), ReportFormat::kCsv, "steps:summary");
  INFO(csv);
  CHECK(has(csv, "Figure,p50 (ns),p95 (ns),p99 (ns),Total (ns),Share (%),Steps,Items/s\n"));
  CHECK(has(csv, "\nstep time,100000,100000,100000,2900000,100.0,19,640000.0\n"));
  CHECK(has(csv, "\ndata wait,10000,10000,10000,200000,6.9,19,\n"));
  CHECK(has(csv, "\nGPU busy,50000,50000,50000,1000000,34.5,19,\n"));
  CHECK(has(csv, "\nwall,,,,2900000,100.0,20,\n"));
  CHECK(has(csv, "\ngoodput,,,,1710000,59.0,,\n"));
  CHECK(has(csv, "\nlost: skipped steps,,,,90000,3.1,1,\n"));
  CHECK(has(csv, "\nlost: warm-up,,,,900000,31.0,1,\n"));  // 990 us without its data wait, less the usual 90
  CHECK_FALSE(has(csv, "\nbackward"));
}

TEST_CASE("names of parts can be given", "[report]") {
  const std::string csv = steps_report(loop(), ReportFormat::kCsv, "steps", "backward=forward");
  INFO(csv);
  CHECK(has(csv, "\n7,,100000,10000,30000,0,"));  // forward has it first
  CHECK(has(steps_report(loop(), ReportFormat::kCsv, "steps", "backward=forward;forward=fwd"),
            "\n7,,100000,10000,0,30000,"));
  ReportOptions options;
  options.view = "steps";
  options.step_names = "forwad=x";
  const Status status = write_report(loop(), options, [](std::string_view) { return true; });
  REQUIRE_FALSE(status.ok());
  CHECK(has(status.error().message(), "did you mean forward?"));
}

TEST_CASE("processes have a column where there are several", "[report]") {
  TimelineBuilder builder;
  builder.on_process(11).step(0, 0, 100).on_process(12).step(0, 0, 200);
  Timeline timeline = builder.build();
  timeline.processes.back().rank = 3;
  const std::string csv = steps_report(timeline, ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv, "Step,Process,State,"));
  CHECK(has(csv, "\n0,11,,100,"));
  CHECK(has(csv, "\n0,rank 3,,200,"));
}

TEST_CASE("an input without steps says so", "[report]") {
  for (const char* view : {"steps", "steps:summary"}) {
    const std::string text = steps_report(TimelineBuilder().range("step", 0, 10).build(), ReportFormat::kText, view);
    INFO(text);
    CHECK(has(text, "session.step()"));
    CHECK_FALSE(has(text, "goodput"));
  }
}

TEST_CASE("steps with shapes have FLOPs, and MFU where peaks are known", "[report]") {
  TimelineBuilder builder;
  for (int step = 0; step < 2; ++step) {
    builder.step(step, step * 10 * kMs, (step + 1) * 10 * kMs);
    builder.range("aten::mm", step * 10 * kMs, step * 10 * kMs + 8 * kMs);
    if (step == 1) builder.given("[[1000, 1000], [1000, 1000]]", R"(["float", "float"])");  // 2 GFLOP
  }
  const Timeline timeline = builder.build();
  const std::string csv = steps_report(timeline, ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv, ",,,2000000000,200.000,,,,,10000000\n"));
  CHECK(has(csv, "\n0,,10000000,0,0,0,0,0,0,10000000,,,,,,,,,0\n"));
  CHECK(has(steps_report(timeline, ReportFormat::kText), "run `rangefinder measure-peaks -o peaks.json`"));
  const MachinePeaks peaks{"c.json", {{"host", "flops", "fp32", 1e12}, {"host", "bandwidth", "copy", 1e10}}, {}};
  ReportOptions options;
  options.view = "steps";
  options.format = ReportFormat::kCsv;
  options.peaks = &peaks;
  CHECK(has(rendered(timeline, options), ",,,2000000000,200.000,20.0,,,,10000000\n"));
  options.format = ReportFormat::kText;
  CHECK(has(rendered(timeline, options), "MFU"));
}

TEST_CASE("steps whose operators have no shapes say why they have no FLOPs", "[report]") {
  TimelineBuilder builder;
  builder.step(0, 0, 100).range("aten::mm", 0, 50).given("", "");
  const std::string text = steps_report(builder.build(), ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "no FLOPs of steps: record operators with the shapes of their inputs"));
  CHECK_FALSE(has(steps_report(loop(), ReportFormat::kText), "FLOPs"));
}
