// SPDX-License-Identifier: MIT
//
// The view ops: torch.profiler's key averages.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

Timeline two_products() {
  TimelineBuilder builder;
  builder.range("step", 0, 200);
  builder.range("aten::mm", 0, 40).of_kind(RangeKind::kOperator).launch(10).kernel(50, 150);
  builder.range("aten::mm", 40, 60).of_kind(RangeKind::kOperator).launch(50).kernel(150, 250);
  builder.range("aten::add", 60, 160).of_kind(RangeKind::kOperator);
  builder.launch(190).kernel(250, 450);
  Timeline timeline = builder.build();
  for (const RangeIndex range : {RangeIndex{1}, RangeIndex{2}}) {
    timeline.operators.append(
        {.range = range, .shapes = timeline.intern(range == 1 ? "[[2,3],[3,4]]" : "[[1,3],[3,4]]")});
  }
  return timeline;
}

std::string ops_report(const Timeline& timeline, ReportFormat format, bool by_shape, std::string_view sort = {}) {
  ReportOptions options;
  options.view = "ops";
  options.format = format;
  options.by_shape = by_shape;
  options.sort = sort;
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("operators by name, with shares of all host and device time", "[report]") {
  const std::string csv = ops_report(two_products(), ReportFormat::kCsv, false);
  INFO(csv);
  CHECK(
      has(csv,
          "Operator,Self CPU share (%),Self CPU (ns),CPU share (%),CPU total (ns),CPU avg (ns),Self GPU (ns),Self "
          "GPU share "
          "(%),GPU total (ns),GPU avg (ns),CPU memory (B),Self CPU memory (B),GPU memory (B),Self GPU memory (B),Calls,"
          "FLOPs,Calls without FLOPs\n"));
  // 200 ns of self time in all (40 of them the step's own), 400 ns of the device.
  CHECK(has(csv, "\naten::mm,30.0,60,30.0,60,30,200,50.0,200,100,0,0,0,0,2,72,0\n"));
  CHECK(has(csv, "\naten::add,50.0,100,50.0,100,100,0,0.0,0,0,0,0,0,0,1,,1\n"));
  CHECK(csv.find("aten::mm") < csv.find("aten::add"));  // by device time of their own
  CHECK_FALSE(has(csv, "step"));
}

TEST_CASE("operators have what was allocated meanwhile, by any thread", "[report]") {
  TimelineBuilder builder;
  builder.range("aten::linear", 0, 100).of_kind(RangeKind::kOperator);
  builder.range("aten::mm", 20, 60).of_kind(RangeKind::kOperator);
  builder.memory(MemoryAction::kAllocate, 10, 0x1, 100).memory(MemoryAction::kAllocate, 30, 0x2, 64, 0);
  builder.on_thread(2).memory(MemoryAction::kFree, 50, 0x1, 30);
  const std::string csv = ops_report(builder.build(), ReportFormat::kCsv, false);
  INFO(csv);
  CHECK(has(csv, "\naten::linear,60.0,60,100.0,100,100,0,0.0,0,0,70,100,64,0,1,,1\n"));
  CHECK(has(csv, "\naten::mm,40.0,40,40.0,40,40,0,0.0,0,0,-30,-30,64,64,1,,1\n"));
}

TEST_CASE("operators by name and shapes", "[report]") {
  const std::string csv = ops_report(two_products(), ReportFormat::kCsv, true, "-cpu_total_ns");
  INFO(csv);
  CHECK(has(csv, ",1,48,0,\"[[2,3],[3,4]]\"\n"));
  CHECK(has(csv, ",1,24,0,\"[[1,3],[3,4]]\"\n"));
  CHECK(csv.find("aten::add") < csv.find("aten::mm"));
}

TEST_CASE("operators whose FLOPs are not known have none in the table, and are named below it", "[report]") {
  TimelineBuilder builder;
  const auto op = [&](const char* name, std::int64_t begin_ns) {
    builder.range(name, begin_ns, begin_ns + 20).of_kind(RangeKind::kOperator);
    builder.launch(begin_ns + 5).kernel(1000 + begin_ns, 1010 + begin_ns);
  };
  builder.range("aten::linear", 0, 100).of_kind(RangeKind::kOperator);  // launches nothing itself
  op("aten::mm", 10);
  op("aten::mm", 40);
  op("aten::_softmax", 100);
  op("aten::m\x1B!", 130);
  op("aten::relu", 160);
  Timeline timeline = builder.build();
  timeline.operators.append({.range = RangeIndex{1}, .shapes = timeline.intern("[[2,3],[3,4]]")});
  const std::string csv = ops_report(timeline, ReportFormat::kCsv, false);
  INFO(csv);
  CHECK(has(csv, ",2,48,1\n"));  // one of the two products has no shapes
  for (const char* line : {"aten::linear,", "aten::_softmax,"}) {
    const std::size_t at = csv.find(line);
    REQUIRE(at != std::string::npos);
    CHECK(csv.substr(at, csv.find('\n', at) - at).ends_with(",1,,1"));
  }
  const std::size_t relu = csv.find("aten::relu,");
  REQUIRE(relu != std::string::npos);
  CHECK(csv.substr(relu, csv.find('\n', relu) - relu).ends_with(",1,0,0"));
  const std::string text = ops_report(timeline, ReportFormat::kText, false);
  INFO(text);
  CHECK(has(text, "FLOPs of 2 operators are not counted: aten::_softmax, aten::m\\x1b!\n"));
  CHECK(has(text, "48+"));
}

TEST_CASE("without any FLOPs nothing is said of them", "[report]") {
  TimelineBuilder builder;
  builder.range("aten::mm", 0, 40).of_kind(RangeKind::kOperator).launch(10).kernel(50, 150);
  CHECK_FALSE(has(ops_report(builder.build(), ReportFormat::kText, false), "FLOPs"));
}

TEST_CASE("without operators the view says so", "[report]") {
  const std::string text = ops_report(TimelineBuilder().range("step", 0, 10).build(), ReportFormat::kText, false);
  INFO(text);
  CHECK(has(text, "operator"));
}
