// SPDX-License-Identifier: MIT
#include "analysis/device_states.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/analysis/breakdown.hpp>
#include <rangefinder/projection.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::change_last;
using rangefinder::testing::TimelineBuilder;

namespace {

constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

BreakdownRow only_row(const Timeline& timeline, std::int64_t usual_gap_ns = 30'000) {
  BreakdownOptions options;
  options.usual_gap_ns = usual_gap_ns;
  const std::vector<BreakdownRow> rows = breakdown(timeline, options);
  REQUIRE(rows.size() == 1);
  return rows[0];
}

std::vector<BreakdownRow> rows_by(const Timeline& timeline, BreakdownBy by) {
  BreakdownOptions options;
  options.by = by;
  return breakdown(timeline, options);
}

const BreakdownRow& row_of(const std::vector<BreakdownRow>& rows, const Timeline& timeline, std::string_view range) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const BreakdownRow& one) {
    return !one.unowned && timeline.text(one.range) == range;
  });
  REQUIRE(row != rows.end());
  return *row;
}

/// A stream is told to wait for an event.
void stream_waits(TimelineBuilder& builder, StreamIndex stream, std::int64_t begin_ns) {
  builder.timeline().syncs.append({.type = 2, .stream = stream, .begin_ns = begin_ns, .end_ns = begin_ns + 1});
}

}  // namespace

TEST_CASE("what overlaps counts once, and exposed is what nothing more useful hides", "[analysis]") {
  TimelineBuilder builder;
  builder.launch(0).kernel(10, 40).kernel(30, 60);                          // 50 ns of computation
  builder.on_stream(8).launch(1).kernel(50, 100, kAllReduce);               // 40 of 50 exposed
  builder.on_stream(9).launch(2).memcpy(90, 120, 64).memcpy(130, 140, 64);  // 20 + 10 of 40 exposed
  builder.launch(3).memset(130, 135, 64);                                   // computation; hides 5 of the copy
  const BreakdownRow row = only_row(builder.build());
  CHECK(row.computation_ns == 55);
  CHECK(row.communication_ns == 50);
  CHECK(row.exposed_communication_ns == 40);
  CHECK(row.memcpy_ns == 40);
  CHECK(row.exposed_memcpy_ns == 25);
  CHECK(row.busy_ns == 120);
  CHECK(row.total_ns == 130);
  CHECK(row.idle_ns == 10);
  CHECK(row.ops == 6);
  CHECK(row.orphan_ops == 0);
}

TEST_CASE("communication is told by the name of the kernel, in any case", "[analysis]") {
  for (const char* name : {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", "NCCL", "void my::RcclThing<int>()"})
    CHECK(analysis::is_communication(name));
  for (const char* name : {"", "ncc", "ncll", "ampere_sgemm_128x64_nn", "accl"})
    CHECK_FALSE(analysis::is_communication(name));
  // A copy between devices is a copy, whatever it is called.
  TimelineBuilder builder;
  builder.launch(0).memcpy(0, 10, 1);
  change_last(builder.timeline().activities,
              [&](ActivityRow& row) { row.name = builder.timeline().intern("nccl copy"); });
  CHECK(only_row(builder.build()).memcpy_ns == 10);
}

TEST_CASE("idle time has the reason of the activity that ends it", "[analysis]") {
  TimelineBuilder builder;
  builder.launch(0).kernel(100, 200);
  SECTION("launched too late: the host") {
    builder.launch(201).kernel(260, 300);
    CHECK(only_row(builder.build()).idle.host_wait_ns == 60);
  }
  SECTION("launched in time, and soon: the kernel") {
    builder.launch(200).kernel(260, 300);
    CHECK(only_row(builder.build(), 60).idle.kernel_wait_ns == 60);
  }
  SECTION("launched in time, and late: other") {
    builder.launch(200).kernel(260, 300);
    CHECK(only_row(builder.build(), 59).idle.other_ns == 60);
  }
  SECTION("a wait for an event of its stream between both launches") {
    stream_waits(builder, StreamIndex{0}, 50);
    builder.launch(150).kernel(260, 300);
    CHECK(only_row(builder.build(), 59).idle.sync_wait_ns == 60);
  }
  SECTION("a wait of another stream is none, nor one before the stream's last launch or after its own") {
    builder.on_stream(8).on_stream(7);
    stream_waits(builder, StreamIndex{1}, 50);
    stream_waits(builder, StreamIndex{0}, -5);
    stream_waits(builder, StreamIndex{0}, 160);
    builder.launch(150).kernel(260, 300);
    CHECK(only_row(builder.build(), 59).idle.other_ns == 60);
  }
  SECTION("of several that begin at once the one that was launched first tells") {
    builder.launch(250).kernel(260, 300);
    builder.on_stream(8).launch(150).kernel(260, 270);
    CHECK(only_row(builder.build()).idle.kernel_wait_ns == 60);
  }
  SECTION("work of another stream in between is no idle time") {
    builder.on_stream(8).launch(1).kernel(150, 240);
    builder.on_stream(7).launch(230).kernel(260, 300);  // its stream was idle before the launch, the device was not
    CHECK(only_row(builder.build()).idle.kernel_wait_ns == 20);
  }
}

TEST_CASE("work without a launch in the data is counted, and counted apart", "[analysis]") {
  TimelineBuilder builder;
  builder.correlation(100).launch(0).kernel(100, 200);
  SECTION("launched before the recording: it was launched in time") {
    builder.without_launch(7).kernel(210, 260);
    const BreakdownRow row = only_row(builder.build());
    CHECK(row.busy_ns == 150);
    CHECK(row.orphan_ops == 1);
    CHECK(row.orphan_busy_ns == 50);
    CHECK(row.idle.kernel_wait_ns == 10);
  }
  SECTION("launch not known: no reason is") {
    builder.without_launch(0).kernel(210, 260);
    const BreakdownRow row = only_row(builder.build());
    CHECK(row.orphan_ops == 1);
    CHECK(row.idle.other_ns == 10);
  }
}

TEST_CASE("graphs that were recorded as a whole are computation", "[analysis]") {
  TimelineBuilder builder;
  builder.launch(0).kernel(0, 10, "graph 3");
  change_last(builder.timeline().activities, [](ActivityRow& row) { row.kind = ActivityKind::kGraph; });
  builder.on_stream(8).launch(1).kernel(5, 30, kAllReduce);
  const BreakdownRow row = only_row(builder.build());
  CHECK(row.computation_ns == 10);
  CHECK(row.graph_ops == 1);
  CHECK(row.graph_busy_ns == 10);
  CHECK(row.exposed_communication_ns == 20);
}

TEST_CASE("time in which nothing was recorded is neither idle nor part of the total", "[analysis]") {
  TimelineBuilder builder;
  builder.window(0, 100).window(500, 600);
  builder.launch(0).kernel(10, 50).launch(510).kernel(520, 620);
  const BreakdownRow row = only_row(builder.build());
  CHECK(row.busy_ns == 140);
  CHECK(row.idle.host_wait_ns == 70);  // to the end of the window, and from the begin of the next
  CHECK(row.total_ns == 210);
}

TEST_CASE("steps and what is outside of them add up to the device", "[analysis]") {
  TimelineBuilder builder;
  builder.step(3, 0, 100).step(4, 100, 200);
  builder.launch(5).kernel(10, 30).launch(40).kernel(90, 120).launch(130).kernel(190, 230);
  const Timeline timeline = builder.build();
  const std::vector<BreakdownRow> rows = rows_by(timeline, BreakdownBy::kStep);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].step == 3);
  CHECK(rows[0].total_ns == 100);
  CHECK(rows[0].busy_ns == 30);
  CHECK(rows[0].ops == 2);                 // that begin in it
  CHECK(rows[0].idle.host_wait_ns == 70);  // 10 before the first kernel of all
  CHECK(rows[1].step == 4);
  CHECK(rows[1].busy_ns == 30);
  CHECK(rows[1].idle.host_wait_ns == 70);
  CHECK_FALSE(rows[2].step.has_value());
  CHECK(rows[2].total_ns == 30);
  CHECK(rows[2].busy_ns == 30);
  CHECK(rows[0].busy_ns + rows[1].busy_ns + rows[2].busy_ns == only_row(timeline).busy_ns);
}

TEST_CASE("by range: work inside counts, and other work of the device hides communication", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("backward", 10, 50).launch(20).kernel(100, 200);
  builder.range("reduce", 60, 90).on_stream(8).launch(70).kernel(150, 260, kAllReduce);
  builder.launch(200).kernel(300, 310, "elsewhere");
  const Timeline timeline = builder.build();
  const std::vector<BreakdownRow> rows = rows_by(timeline, BreakdownBy::kRange);
  REQUIRE(rows.size() == 4);
  const BreakdownRow& reduce = row_of(rows, timeline, "reduce");
  CHECK(reduce.computation_ns == 0);
  CHECK(reduce.communication_ns == 110);
  CHECK(reduce.exposed_communication_ns == 60);  // 50 are behind the kernel of `backward`
  CHECK(reduce.busy_ns == 110);
  CHECK(reduce.total_ns == 110);
  const BreakdownRow& step = row_of(rows, timeline, "step");
  CHECK(step.computation_ns == 100);
  CHECK(step.communication_ns == 110);
  CHECK(step.busy_ns == 160);
  CHECK(step.instances == 1);
  CHECK(step.ops == 2);
  CHECK(rows[3].unowned == Unowned::kOutside);
  CHECK(rows[3].busy_ns == 10);
}

TEST_CASE("by range: work of other ranges between that of an instance is neither busy nor idle", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 10).launch(1).kernel(100, 110).launch(2).kernel(200, 210);
  builder.range("b", 20, 30).launch(21).kernel(150, 180);
  const Timeline timeline = builder.build();
  const auto rows = rows_by(timeline, BreakdownBy::kRange);
  const BreakdownRow& a = row_of(rows, timeline, "a");
  CHECK(a.total_ns == 110);
  CHECK(a.busy_ns == 20);
  CHECK(a.other_work_ns == 30);
  CHECK(a.idle_ns == 60);
  CHECK(a.idle.kernel_wait_ns == 60);
}

TEST_CASE("a device has a row of its own, and one without work has none", "[analysis]") {
  TimelineBuilder builder;
  builder.on_device(0).on_device(1).launch(0).kernel(10, 20).on_device(2).launch(5).kernel(30, 50);
  const auto rows = breakdown(builder.build());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].device == DeviceIndex{1});
  CHECK(rows[0].total_ns == 10);
  CHECK(rows[1].device == DeviceIndex{2});
  CHECK(rows[1].total_ns == 20);
  CHECK(breakdown(Timeline()).empty());
}

TEST_CASE("times at the ends of what a number holds make no nonsense", "[analysis]") {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();
  TimelineBuilder builder;
  builder.step(1, kMin, kMax).step(2, 0, 10).range("a", kMin, kMax);
  builder.launch(kMin).kernel(kMin, kMax).launch(kMax).kernel(kMax, kMin).launch(0).kernel(5, 3);
  const Timeline timeline = builder.build();
  for (const BreakdownBy by : {BreakdownBy::kDevice, BreakdownBy::kStep, BreakdownBy::kRange})
    for (const BreakdownRow& row : rows_by(timeline, by)) {
      CHECK(row.busy_ns >= 0);
      CHECK(row.idle_ns >= 0);
      CHECK(row.total_ns >= 0);
    }
}
