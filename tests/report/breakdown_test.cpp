// SPDX-License-Identifier: MIT
//
// The view breakdown.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Two steps of a rank: a forward pass, and a reduction that is half hidden. One kernel was launched before the
/// recording.
TimelineBuilder two_steps() {
  TimelineBuilder builder;
  builder.correlation(50).without_launch(3).kernel(0, 2'000, "early").correlation(50);
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::int64_t t = 10'000 + step * 100'000;
    builder.step(step, t, t + 100'000).range("step", t, t + 90'000);
    builder.range("forward", t, t + 20'000).launch(t + 1'000).on_stream(7).kernel(t + 10'000, t + 50'000);
    builder.range("reduce", t + 30'000, t + 40'000).launch(t + 31'000).on_stream(8);
    builder.kernel(t + 40'000, t + 60'000, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  }
  return builder;
}

std::string breakdown_report(const Timeline& timeline, ReportFormat format, std::string by = {}) {
  ReportOptions options;
  options.view = "breakdown";
  options.format = format;
  options.by = std::move(by);
  return rendered(timeline, options);
}

Status breakdown_status(const Timeline& timeline, std::string view, std::string by) {
  ReportOptions options;
  options.view = std::move(view);
  options.by = std::move(by);
  return write_report(timeline, options, [](std::string_view) { return true; });
}

}  // namespace

TEST_CASE("one row per device, with the figures of computation, communication and idle time", "[report]") {
  const std::string csv = breakdown_report(two_steps().build(), ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv,
            "Device,Computation (ns),Communication (ns),Exposed communication (ns),Memcpy (ns),Exposed memcpy (ns),"
            "Busy (ns),Idle (ns),Total (ns),Host wait (ns),Kernel wait (ns),Sync wait (ns),Other idle (ns),Ops,Orphans,"
            "Orphan busy (ns),Whole graphs,Whole graph busy (ns),Device name\n"));
  CHECK(has(csv, "\n0,82000,40000,20000,0,0,102000,68000,170000,68000,0,0,0,5,1,2000,0,0,\n"));
}

TEST_CASE("JSON has the columns under the names of the definitions", "[report]") {
  const std::string json = breakdown_report(two_steps().build(), ReportFormat::kJson);
  INFO(json);
  for (const char* key : {"computation_ns", "communication_ns", "exposed_communication_ns", "memcpy_ns",
                          "exposed_memcpy_ns", "busy_ns", "idle_ns", "total_ns", "host_wait_ns", "kernel_wait_ns",
                          "sync_wait_ns", "other_idle_ns", "orphans", "orphan_busy_ns"})
    CHECK(has(json, "\"" + std::string(key) + "\""));
}

TEST_CASE("rows by step have their number, and the last what is outside of steps", "[report]") {
  const std::string csv = breakdown_report(two_steps().build(), ReportFormat::kCsv, "step");
  INFO(csv);
  CHECK(has(csv, "Device,Step,Computation (ns),"));
  CHECK(has(csv, "\n0,0,40000,20000,10000,0,0,50000,50000,100000,50000,0,0,0,2,0,0,"));
  CHECK(has(csv, "\n0,1,40000,20000,10000,0,0,50000,50000,100000,10000,0,0,40000,2,0,0,"));
  CHECK(has(csv, "\n0,,2000,0,0,0,0,2000,8000,10000,8000,0,0,0,1,1,2000,"));
}

TEST_CASE("rows by range have the work inside it, and what no range owns comes last", "[report]") {
  const std::string csv = breakdown_report(two_steps().build(), ReportFormat::kCsv, "range");
  INFO(csv);
  CHECK(has(csv, "Device,Range,Instances,Computation (ns),"));
  CHECK(has(csv, "\n0,step,2,80000,40000,20000,0,0,100000,0,0,100000,"));
  CHECK(has(csv, "\n0,forward,2,80000,0,0,0,0,80000,0,0,80000,"));
  CHECK(has(csv, "\n0,reduce,2,0,40000,20000,0,0,40000,0,0,40000,"));
  CHECK(has(csv, "\n0,(launched before the recording),,2000,"));
}

TEST_CASE("text leaves out what no device did, and notes orphans", "[report]") {
  const std::string text = breakdown_report(two_steps().build(), ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "the launch of 1 operations is not in the input"));
  CHECK_FALSE(has(text, "Memcpy"));
  CHECK_FALSE(has(text, "Process"));
  CHECK_FALSE(has(text, "Whole graph"));
}

TEST_CASE("devices of several processes are told apart by rank", "[report]") {
  TimelineBuilder builder = two_steps();
  builder.on_process(2).launch(0).kernel(5, 10);
  builder.timeline().processes[1].rank = 1;
  const std::string csv = breakdown_report(builder.build(), ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv, "Device,Process,"));
  CHECK(has(csv, "\n0,1,82000,"));
  CHECK(has(csv, "\n0,rank 1,5,"));
}

TEST_CASE("a graph that was recorded as a whole is noted", "[report]") {
  TimelineBuilder builder;
  builder.launch(0).kernel(0, 10, "graph");
  change_last(builder.timeline().activities, [](ActivityRow& row) { row.kind = ActivityKind::kGraph; });
  const Timeline timeline = builder.build();
  CHECK(has(breakdown_report(timeline, ReportFormat::kText), "count as computation"));
  CHECK(has(breakdown_report(timeline, ReportFormat::kCsv), ",1,10,\n"));
}

TEST_CASE("without steps a breakdown by step says so", "[report]") {
  const Timeline timeline = TimelineBuilder().launch(0).kernel(5, 10).build();
  CHECK(has(breakdown_report(timeline, ReportFormat::kText, "step"), "this input has no steps"));
}

TEST_CASE("what a breakdown cannot be by is an error, and other views are by nothing", "[report]") {
  const Timeline timeline = two_steps().build();
  const Status status = breakdown_status(timeline, "breakdown", "stream");
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kInvalidArgument);
  CHECK(has(status.error().message(), "\"stream\": there are step and range"));
  CHECK(has(breakdown_status(timeline, "kernels", "step").error().message(), "use --view breakdown"));
}
