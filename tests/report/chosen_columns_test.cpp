// SPDX-License-Identifier: MIT
//
// Columns that the caller chooses.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <utility>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

Timeline device_timeline() {
  return TimelineBuilder().range("step", 1'000, 2'000).launch(1'100).kernel(1'500, 1'900).build();
}

Timeline host_timeline() { return TimelineBuilder().range("step", 0, 100).range("load", 10, 40).build(); }

ReportOptions with_columns(std::string columns, ReportFormat format = ReportFormat::kText) {
  ReportOptions options;
  options.columns = std::move(columns);
  options.format = format;
  options.overview = false;
  return options;
}

}  // namespace

TEST_CASE("chosen columns are shown in the order of the list, in every form", "[report]") {
  const Timeline timeline = device_timeline();
  const std::string text = rendered(timeline, with_columns("host p95, Range,gpu_sum"));
  CHECK(text.substr(0, text.find('\n')) == "Host p95  Range  GPU sum");
  CHECK(rendered(timeline, with_columns("gpu_sum,range", ReportFormat::kCsv)) == "GPU sum (ns),Range\n400,step\n");
  const std::string json = rendered(timeline, with_columns("count,range", ReportFormat::kJson));
  CHECK(has(json, R"({"count": 1, "range": "step"})"));
}

TEST_CASE("a path is a path wherever it is chosen", "[report]") {
  ReportOptions options = with_columns("count,path,range", ReportFormat::kCsv);
  options.view = "tree";
  CHECK(rendered(host_timeline(), options) == "Count,Path,Range\n1,step,step\n1,step/load,load\n");
}

TEST_CASE("a chosen column stays where there is no room, and where it is empty", "[report]") {
  ReportOptions options = with_columns("range,host_avg,host_min,host_max,launch_delay_avg,bytes");
  options.width = 30;
  const std::string text = rendered(device_timeline(), options);
  CHECK_FALSE(has(text, "no room for"));
  CHECK(has(text, "Bytes"));
}

TEST_CASE("a filter and an order may be about columns that are not shown", "[report]") {
  ReportOptions options = with_columns("host", ReportFormat::kCsv);
  options.filter = "load";
  options.sort = "range";
  CHECK(rendered(host_timeline(), options) == "Host (ns)\n30\n");
}

TEST_CASE("an unknown column is answered with all there are", "[report]") {
  const Status status =
      write_report(host_timeline(), with_columns("range,hots"), [](std::string_view) { return true; });
  REQUIRE_FALSE(status.ok());
  CHECK(has(status.error().message(), "columns: no column \"hots\""));
  CHECK(has(status.error().message(), "host_p95_ns"));
  for (const char* list : {",", "range,", ",range"})
    CHECK_FALSE(write_report(host_timeline(), with_columns(list), [](std::string_view) { return true; }).ok());
}

TEST_CASE("help lists the columns of a view", "[report]") {
  const std::string text = rendered(Timeline(), with_columns("help"));
  CHECK(has(text, "host_p95_ns"));
  CHECK_FALSE(has(text, "device time"));
  ReportOptions options = with_columns("help", ReportFormat::kCsv);
  options.view = "memcpy";
  CHECK(has(rendered(Timeline(), options), "throughput_gb_s,Throughput,GB/s,always\n"));
}

TEST_CASE("where the host is all there is, its figures are shown", "[report]") {
  const std::string host = rendered(host_timeline(), {.overview = false});
  for (const char* title : {"Host self", "Host median", "Host p95", "Host max"}) CHECK(has(host, title));
  CHECK_FALSE(has(host, "GPU"));
  CHECK(has(host, "device time  none\n"));
  const std::string device = rendered(device_timeline(), {.overview = false});
  CHECK_FALSE(has(device, "Host median"));
  CHECK(has(device, "GPU busy"));
}

TEST_CASE("a thread whose name has its number is not numbered twice", "[report]") {
  TimelineBuilder builder;
  builder.on_thread(4711).range("a", 0, 1).on_thread(12).range("b", 0, 1).on_thread(13).range("c", 0, 1);
  builder.timeline().threads[1].name = "thread 4711 (python)";
  builder.timeline().threads[2].name = "loader";
  ReportOptions options = with_columns("range,thread", ReportFormat::kCsv);
  options.instances = true;
  CHECK(rendered(builder.build(), options) == "Range,Thread\na,thread 4711 (python)\nb,loader 12\nc,13\n");
}

TEST_CASE("points in time count from the begin of the input in text, and are exact elsewhere", "[report]") {
  const Timeline timeline =
      TimelineBuilder().range("a", 5'000'000'000, 6'000'000'000).range("b", 5'250'000'000, 5'500'000'000).build();
  ReportOptions options = with_columns("range,begin");
  options.instances = true;
  CHECK(has(rendered(timeline, options), "0.250000000"));
  options.absolute_times = true;
  CHECK(has(rendered(timeline, options), "5.250000000"));
  options.absolute_times = false;
  options.format = ReportFormat::kCsv;
  CHECK(has(rendered(timeline, options), "b,5250000000"));
  options.format = ReportFormat::kJson;
  CHECK(has(rendered(timeline, options), "\"begin_ns\": 5000000000"));
}
