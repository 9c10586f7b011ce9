// SPDX-License-Identifier: MIT
//
// The views of memory.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::string memory_report(const Timeline& timeline, std::string_view view, bool instances = false,
                          ReportFormat format = ReportFormat::kCsv) {
  ReportOptions options;
  options.view = view;
  options.format = format;
  options.instances = instances;
  return rendered(timeline, options);
}

/// Two steps; each keeps 100 bytes of the host and uses 500 of the device in between.
Timeline leaking() {
  TimelineBuilder builder;
  for (unsigned i = 0; i < 2; ++i) {
    const std::int64_t at = 1000 * i;
    builder.range("step", at, at + 1000).range("forward", at + 100, at + 500).step(i, at, at + 1000);
    builder.range("aten::mm", at + 190, at + 210).of_kind(RangeKind::kOperator);
    builder.memory(MemoryAction::kAllocate, at + 50, 0x10 + i, 100);
    builder.memory(MemoryAction::kAllocate, at + 200, 0x20, 500, 0).in_memory(1500, 4096);
    builder.memory(MemoryAction::kFree, at + 600, 0x20, 500, 0).in_memory(1000, 4096);
    builder.memory(MemoryAction::kAllocate, at + 700, 0x30, 8, 0).in_memory(1008, 4096, 5);
    builder.memory(MemoryAction::kFree, at + 800, 0x30, 8, 0).in_memory(1000, 4096, 5);
  }
  return builder.build();
}

}  // namespace

TEST_CASE("one row per range and memory: what is allocated in it, and its peak", "[report]") {
  const std::string csv = memory_report(leaking(), "memory");
  INFO(csv);
  CHECK(has(csv,
            "Range,Memory,Count,Allocated (B),Freed (B),Delta (B),Self allocated (B),Self freed (B),Self delta (B),"
            "Peak (B),Peak above begin (B),Allocations"));
  CHECK(has(csv, "\nstep,host,2,200,0,200,200,0,200,200,100,2"));
  CHECK(has(csv, "\nstep,cuda:0,2,1016,1016,0,16,1016,-1000,1500,500,4"));
  CHECK(has(csv, "\nforward,cuda:0,2,1000,0,1000,1000,0,1000,1500,500,2"));
  CHECK_FALSE(has(csv, "aten::mm"));

  const std::string each = memory_report(leaking(), "memory", true);
  INFO(each);
  CHECK(has(each, "\nstep,host,0,1,100,0,100,"));
  CHECK(has(each, "\nstep,host,1000,1,100,0,100,"));
}

TEST_CASE("the peak's composition by range and by operator", "[report]") {
  const std::string csv = memory_report(leaking(), "memory_peak");
  INFO(csv);
  CHECK(has(csv, "\nstep,range,host,200,100.0,2,"));
  CHECK(has(csv, "\nforward,range,cuda:0,500,33.3,1,"));
  CHECK(has(csv, "\n[before the recording],range,cuda:0,1000,66.7,,"));
  CHECK(has(csv, "\naten::mm,operator,cuda:0,500,33.3,1,"));
}

TEST_CASE("host and devices over the whole time, with private pools", "[report]") {
  const std::string csv = memory_report(leaking(), "memory_devices");
  INFO(csv);
  CHECK(has(csv, "\nhost,all,200,,,,200,0,200,100,2,0,0"));
  CHECK(has(csv, "\ncuda:0,all,1500,4096,3096,36.6,1016,1016,1000,0,4,0,0"));
  CHECK(has(csv, "\ncuda:0,default,500,"));
  CHECK(has(csv, "\ncuda:0,graph 5,8,"));
}

TEST_CASE("fragmentation of each device, where the allocator's statistics were counted", "[report]") {
  TimelineBuilder builder;
  const auto count = [&](std::int64_t at, std::string_view device, std::int64_t inactive, std::int64_t retries) {
    const std::string prefix = std::string(device) + " ";
    builder.counter(prefix + "allocated bytes", at, 600).counter(prefix + "reserved bytes", at + 1, 1000);
    builder.counter(prefix + "requested bytes", at + 2, 450).counter(prefix + "active bytes", at + 3, 650);
    builder.counter(prefix + "inactive split bytes", at + 4, inactive).counter(prefix + "segments", at + 5, 3);
    builder.counter(prefix + "allocation retries", at + 6, retries).counter(prefix + "out of memory", at + 7, 2);
  };
  builder.step(7, 0, 100).step(8, 100, 200);
  count(90, "cuda:0", 250, 4);
  count(190, "cuda:0", 100, 5);
  builder.counter("cuda:1 reserved bytes", 195, 0).counter("cuda:1 inactive split bytes", 196, 0);
  builder.counter("cuda:1 segments", 300, 0).counter("cuda:1 segments", 301, 0);
  const Timeline timeline = builder.build();
  const std::string csv = memory_report(timeline, "memory_fragmentation");
  INFO(csv);
  CHECK(has(csv,
            "Memory,Count,Step,Counted at (ns),Reserved (B),Allocated (B),Requested (B),Active (B),Inactive splits (B),"
            "External fragmentation (%),Internal fragmentation (%),Efficiency (%),Segments,Retries,Out of memory"));
  CHECK(has(csv, "\ncuda:0,most split,7,90,1000,600,450,650,250,25.0,25.0,60.0,3,4,2"));
  CHECK(has(csv, "\ncuda:0,last,8,190,1000,600,450,650,100,10.0,25.0,60.0,3,5,2"));
  // Nothing of nothing is no share, and what was not told is no zero.
  CHECK(has(csv, "\ncuda:1,most split,8,195,0,,,,0,,,,0,,"));
  CHECK(has(csv, "\ncuda:1,last,,301,,,,,,,,,0,,"));
  const std::string each = memory_report(timeline, "memory_fragmentation", true);
  INFO(each);
  CHECK(has(each, "\ncuda:0,each,7,90,"));
  CHECK(has(each, "\ncuda:0,each,8,190,"));
  CHECK(has(each, "\ncuda:1,each,8,195,"));
  CHECK(has(memory_report(leaking(), "memory_fragmentation", false, ReportFormat::kText),
            "statistics of a device allocator (MemoryRecording, count_device_memory)"));
}

TEST_CASE("an input without allocations says what is missing", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 10);
  const Timeline timeline = builder.build();
  for (const std::string_view view : {"memory", "memory_peak", "memory_devices"}) {
    const std::string text = memory_report(timeline, view, false, ReportFormat::kText);
    INFO(text);
    CHECK(has(text, "allocations (MemoryRecording, profile_memory)"));
  }
}
