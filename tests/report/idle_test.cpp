// SPDX-License-Identifier: MIT
//
// The views streams, idle and idle_streams.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// A device whose second stream copies while the first one computes, and which waits for data.
Timeline two_streams() {
  TimelineBuilder builder;
  builder.range("step", 0, 1'000'000).launch(1'000).kernel(10'000, 110'000);
  builder.on_stream(9).launch(2'000).memcpy(60'000, 160'000, 4096).on_stream(7);
  builder.range("data", 200'000, 500'000);
  builder.range("forward", 500'000, 700'000).launch(600'000).kernel(610'000, 700'000);
  return builder.build();
}

std::string idle_report(const Timeline& timeline, const char* view, ReportFormat format = ReportFormat::kCsv,
                        bool instances = false) {
  ReportOptions options;
  options.view = view;
  options.format = format;
  options.instances = instances;
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("streams: how much each worked alone and beside others", "[report]") {
  CHECK(idle_report(two_streams(), "streams") ==
        "Device,Stream,Ops,Busy (ns),Share (%),Alone (ns),With others (ns),Mostly with,With that one (ns)\n"
        "0,7,2,190000,27.5,140000,50000,9,50000\n"
        "0,9,1,100000,14.5,50000,50000,7,50000\n");
}

TEST_CASE("streams:summary: time with no, one and more streams busy", "[report]") {
  CHECK(idle_report(two_streams(), "streams:summary") ==
        "Device,Streams,Time (ns),No stream (ns),No stream share (%),1 stream (ns),1 stream share (%),2 streams (ns),"
        "2 streams share (%),3 streams or more (ns),3 streams or more share (%),Most at once\n"
        "0,2,690000,450000,65.2,190000,27.5,50000,7.2,0,0.0,2\n");
}

TEST_CASE("streams --instances: the pairs that overlap", "[report]") {
  CHECK(idle_report(two_streams(), "streams", ReportFormat::kCsv, true) ==
        "Device,Stream,Other stream,Overlap (ns),Of the shorter (%)\n"
        "0,7,9,50000,50.0\n");
  TimelineBuilder builder;
  builder.launch(0).kernel(10, 20);
  CHECK(has(idle_report(builder.build(), "streams", ReportFormat::kText, true),
            "no two streams of a device were busy at the same time"));
}

TEST_CASE("idle: why a device did nothing, and where the host was", "[report]") {
  CHECK(idle_report(two_streams(), "idle") ==
        "Range,Reason,Device,Stream,Gaps,Idle (ns),Share (%),Avg (ns),Longest (ns)\n"
        "data,input,0,7,1,300000,66.7,300000,300000\n"
        "forward,host too late,0,7,1,100000,22.2,100000,100000\n"
        "step,host too late,0,7,1,40000,8.9,40000,40000\n"
        "forward,launch latency,0,7,1,10000,2.2,10000,10000\n");
  TimelineBuilder builder;
  builder.launch(0).kernel(10, 20).call("cudaDeviceSynchronize", 5, 100).launch(100).kernel(110, 120);
  const std::string csv = idle_report(builder.build(), "idle");
  INFO(csv);
  CHECK(has(csv, "\n(outside any range),synchronisation: device,0,7,1,80,88.9,80,80\n"));
}

TEST_CASE("idle_streams: a stream is idle while another one works", "[report]") {
  const std::string csv = idle_report(two_streams(), "idle_streams");
  INFO(csv);
  CHECK(has(csv, "\nstep,host too late,0,7,1,90000,18.0,90000,90000\n"));
  CHECK(has(idle_report(two_streams(), "idle_streams", ReportFormat::kText), "--view idle has idle devices"));
}

TEST_CASE("devices of several processes have a column for them", "[report]") {
  TimelineBuilder builder;
  builder.on_process(11).launch(0).kernel(10, 20).launch(40).kernel(50, 60);
  builder.on_process(12).launch(0).kernel(10, 20);
  const Timeline timeline = builder.build();
  CHECK(has(idle_report(timeline, "streams"), "Device,Process,Stream,"));
  CHECK(has(idle_report(timeline, "idle"), "\n(outside any range),host too late,0,11,7,"));
}
