// SPDX-License-Identifier: MIT
//
// The view counters: hardware counters of ranges, by path and by where they come from.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

void counted(Timeline& timeline, RangeIndex range, std::string_view metric, double value) {
  timeline.range_metrics.append({.range = range, .metric = timeline.intern(metric), .value = value});
}

void sampled(Timeline& timeline, std::string_view metric, std::int64_t begin_ns, std::int64_t end_ns, double value) {
  timeline.pm_samples.append(
      {.metric = timeline.intern(metric), .begin_ns = begin_ns, .end_ns = end_ns, .value = value});
}

/// step { layer layer }, both layers counted: 300 ns and 100 ns.
Timeline counted_layers() {
  TimelineBuilder builder;
  builder.range("step", 0, 1'000).range("layer", 100, 200).range("layer", 300, 400);
  Timeline timeline = builder.build();
  for (const RangeIndex range : {RangeIndex{1}, RangeIndex{2}}) {
    counted(timeline, range, "gpu_time_ns", range == 1 ? 300 : 100);
    counted(timeline, range, "dram_read_bytes", range == 1 ? 6'000 : 2'000);
    counted(timeline, range, "sm_active_ratio", range == 1 ? 0.5 : 0.9);
    counted(timeline, range, "flop_tensor_bf16", 1'000);
    counted(timeline, range, "lts__t_sector_hit_rate.pct", 62.5);
  }
  return timeline;
}

std::string counters_report(const Timeline& timeline, ReportFormat format, bool instances = false) {
  ReportOptions options;
  options.view = "counters";
  options.format = format;
  options.instances = instances;
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("counters are added up by path, ratios by device time", "[report]") {
  const std::string csv = counters_report(counted_layers(), ReportFormat::kCsv);
  INFO(csv);
  CHECK(csv ==
        "Range,From,Count,GPU time (ns),DRAM read (B),DRAM read rate (GB/s),SM active (%),FLOP tensor bf16,"
        "FLOP tensor bf16 rate (GFLOP/s),lts__t_sector_hit_rate.pct,Sampled (%),Range id\n"
        "step/layer,range profiler,2,400,8000,20.0,60.0,2000,5.0,62.50,,2\n");
}

TEST_CASE("each instance has a row of its own", "[report]") {
  const std::string csv = counters_report(counted_layers(), ReportFormat::kCsv, true);
  INFO(csv);
  CHECK(has(csv, "\nstep/layer,range profiler,1,300,6000,20.0,50.0,1000,3.3,62.50,,2\n"));
  CHECK(has(csv, "\nstep/layer,range profiler,1,100,2000,20.0,90.0,1000,10.0,62.50,,3\n"));
}

TEST_CASE("samples are told from what was counted, with what they cover", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 1'000).range("layer", 100, 200);
  builder.launch(150).kernel(2'000, 3'000);
  Timeline timeline = builder.build();
  counted(timeline, RangeIndex{1}, "dram_read_bytes", 77);
  sampled(timeline, "dram_read_bytes", 1'500, 2'500, 4'000);
  const std::string csv = counters_report(timeline, ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv, "\nstep,samples,1,500,2000,4.0,50.0,1\n"));
  CHECK(has(csv, "\nstep/layer,range profiler,1,,77,,,2\n"));  // no time, no rate
  CHECK(has(csv, "\nstep/layer,samples,1,500,2000,4.0,50.0,2\n"));
  const std::string text = counters_report(timeline, ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "Sampled: share of the range's device time that has samples"));
}

TEST_CASE("ranges without samples count in what is not sampled", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 10).launch(1).kernel(100, 200).range("step", 20, 30).launch(21).kernel(300, 400);
  builder.range("never", 40, 50).launch(41).kernel(500, 600);
  Timeline timeline = builder.build();
  sampled(timeline, "dram_read_bytes", 100, 200, 400);
  const std::string csv = counters_report(timeline, ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv, "\nstep,samples,2,100,400,4.0,50.0,1\n"));
  CHECK(has(csv, "\nnever,samples,1,,,,0.0,2\n"));
}

TEST_CASE("where counters were asked for the view does not advise to ask", "[report]") {
  Timeline timeline = TimelineBuilder().range("step", 0, 10).launch(5).kernel(20, 30).build();
  timeline.metadata.emplace_back("sample_state", "\"no device was in use\"");
  const std::string text = counters_report(timeline, ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "a note says why there are none"));
  CHECK_FALSE(has(text, "pm_sampling=device"));
}

TEST_CASE("without counters the view says what it needs", "[report]") {
  const Timeline timeline = TimelineBuilder().range("step", 0, 10).launch(5).kernel(20, 30).build();
  const std::string text = counters_report(timeline, ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "hardware counters (counters=memory, pm_sampling=device)"));
}
