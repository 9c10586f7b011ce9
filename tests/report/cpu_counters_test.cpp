// SPDX-License-Identifier: MIT
//
// The view cpu_counters: what the processor did in ranges.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::string cpu_counters_report(TimelineBuilder& builder, ReportFormat format = ReportFormat::kCsv) {
  ReportOptions options;
  options.view = "cpu_counters";
  options.format = format;
  return rendered(builder.build(), options);
}

}  // namespace

TEST_CASE("counters of the processor by path, with their ratios", "[report]") {
  TimelineBuilder builder;
  for (const std::int64_t at : {0, 100}) {
    builder.range("step", at, at + 90)
        .cpu_counts({{CpuEvent::kCpuTime, 80},
                     {CpuEvent::kCycles, 1000},
                     {CpuEvent::kInstructions, 2500},
                     {CpuEvent::kCacheReferences, 40},
                     {CpuEvent::kCacheMisses, 10},
                     {CpuEvent::kBranchMisses, 5},
                     {CpuEvent::kPageFaults, 2},
                     {CpuEvent::kContextSwitches, 1},
                     {CpuEvent::kNotCounted, 0}});
    builder.range("inner", at + 10, at + 20).cpu_counts({{CpuEvent::kCpuTime, 10}, {CpuEvent::kPageFaults, 0}});
  }
  const std::string csv = cpu_counters_report(builder);
  INFO(csv);
  CHECK(has(csv,
            "Range,Count,Host (ns),CPU time (ns),Instructions,Cycles,Instructions a cycle,Cache references,Cache "
            "misses,Cache miss rate (%),Branch misses,Branch misses in 1000,Page faults,Context switches,Counted "
            "(%),Path,Depth,Id,Parent id\n"));
  CHECK(has(csv, "\nstep,2,180,160,5000,2000,2.50,80,20,25.0,10,2.00,4,2,100.0,step,0,1,\n"));
  CHECK(has(csv, "\ninner,2,20,20,,,,,,,,,0,,,step/inner,1,2,1\n"));
}

TEST_CASE("counts of a range whose counters were with others are scaled up, and it says so", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 90)
      .cpu_counts({{CpuEvent::kCpuTime, 80},
                   {CpuEvent::kCycles, 1000},
                   {CpuEvent::kPageFaults, 3},
                   {CpuEvent::kNotCounted, 60}});
  Timeline timeline = builder.build();
  ReportOptions options;
  options.view = "cpu_counters";
  options.format = ReportFormat::kCsv;
  const std::string csv = rendered(timeline, options);
  INFO(csv);
  CHECK(has(csv, "\nstep,1,90,80,,4000,,,,,,,3,,25.0,step,0,1,\n"));
  options.format = ReportFormat::kText;
  CHECK(has(rendered(timeline, options), "1 ranges ran while other programs used the CPU counters"));
}

TEST_CASE("a report of counters that were not recorded says how to get them", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 90);
  CHECK(has(cpu_counters_report(builder, ReportFormat::kText), "CPU counters (record with cpu_counters=on)"));
}
