// SPDX-License-Identifier: MIT
//
// The view collective_calls: a row for each rank's part of a collective.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"
#include "timeline/collectives.hpp"

#include <rangefinder/report.hpp>

#include <algorithm>
#include <iostream>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Rank 0 reduces on a device with NCCL, and waits in another range. Rank 1 reduces on the host, calls an all-to-all
/// that it never leaves, and has the kernel of a broadcast that was called before the recording.
Timeline two_ranks() {
  TimelineBuilder builder;
  Timeline& timeline = builder.timeline();
  ProcessGroupInfo pair;
  pair.name = "0";
  pair.description = "default_pg";
  pair.ranks = {0, 1};
  pair.size = 2;
  const ProcessGroupIndex group = timeline::add_process_group(timeline, pair);
  CollectiveRow row;
  row.kind = CollectiveKind::kAllReduce;
  row.name = timeline.intern("allreduce");
  row.group = group;
  row.number = 4;
  row.elements_in = row.elements_out = 1000;
  row.dtype = timeline.intern("BFloat16");

  builder.range("step", 0, 900).range("backward", 100, 200).launch(110).kernel(300, 500, "ncclDevKernel_AllReduce");
  builder.launch(120).kernel(450, 600, "ncclDevKernel_AllReduce").range("optimizer", 300, 800);
  row.thread = row.wait_thread = ThreadIndex(0);
  row.begin_ns = 105;
  row.end_ns = 130;
  row.wait_begin_ns = 310;
  row.wait_end_ns = 610;
  row.algorithm = timeline.intern("RING");
  row.protocol = timeline.intern("LL128");
  row.channels = 8;
  timeline.collectives.append(row);

  builder.on_process(2).range("late", 100, 700).without_launch(9).kernel(10, 40, "ncclDevKernel_Broadcast_RING_LL");
  row.process = ProcessIndex(1);
  row.thread = ThreadIndex(1);
  row.wait_thread = kNone;
  row.begin_ns = 400;
  row.end_ns = 410;
  row.started_ns = 420;
  row.completed_ns = 580;
  row.wait_begin_ns = row.wait_end_ns = kNoTime;
  row.algorithm = row.protocol = StringId::kEmpty;
  row.channels = 0;
  timeline.collectives.append(row);
  CollectiveRow exchange;
  exchange.kind = CollectiveKind::kAllToAll;
  exchange.source = CollectiveSource::kNccl;
  exchange.name = timeline.intern("AllToAll");
  exchange.process = ProcessIndex(1);
  exchange.thread = ThreadIndex(1);
  exchange.begin_ns = 650;
  exchange.elements_in = 8;
  exchange.in_splits = timeline.intern("[3, 5]");
  exchange.peer = 1;
  timeline.collectives.append(exchange);
  timeline.processes[0].rank = 0;
  timeline.processes[1].rank = 1;
  timeline::join_collectives(timeline);
  return builder.build();
}

std::string calls_report(const Timeline& timeline, ReportOptions options) {
  options.view = "collective_calls";
  return rendered(timeline, options);
}
std::string calls_report(const Timeline& timeline, ReportFormat format) {
  ReportOptions options;
  options.format = format;
  return calls_report(timeline, options);
}
/// A few columns, as CSV.
std::string calls_columns(const Timeline& timeline, std::string columns, ReportOptions options = {}) {
  options.format = ReportFormat::kCsv;
  options.columns = std::move(columns);
  return calls_report(timeline, options);
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("a row has all that the input tells of a rank's part of a collective", "[report]") {
  const std::string csv = calls_report(two_ranks(), ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv,
            "Collective,Name,Source,Rank,Process,Group,Group name,Group description,Group ranks,Ranks,Number,Elements "
            "in,Elements out,Type,Bytes (B),Peer,Parts in,Parts out,Algorithm,Protocol,Channels,Call begin (ns),Call "
            "(ns),Work begin (ns),Work (ns),Kernels,GPU sum (ns),Wait begin (ns),Wait (ns),Thread,Range,Range of "
            "wait,Range id,Range of wait id\n"));
  CHECK(lines_in(csv) == 5);
  // Work on the device is from the first kernel's begin to the last one's end; kernels add up.
  CHECK(
      has(csv,
          "\nall_reduce,allreduce,c10d,0,1,0 (default_pg),0,default_pg,\"[0, 1]\",2,4,1000,1000,BFloat16,2000,,,,RING,"
          "LL128,8,105,25,300,300,2,350,310,300,1,step/backward,step/optimizer,"));
  // On the host it is what the library told.
  CHECK(has(csv, ",BFloat16,2000,,,,,,,400,10,420,160,0,,,,2,late,,"));
  // What never came back has a begin alone.
  CHECK(has(csv, "\nall_to_all,AllToAll,nccl,1,2,,,,,,,8,,,,1,\"[3, 5]\",,,,,650,,650,,0,,,,2,late,,"));
  // Of a kernel without a call its name tells the kind.
  CHECK(has(csv, "\nbroadcast,ncclDevKernel_Broadcast_RING_LL,nccl,1,2,,,,,,,,,,,,,,,,,,,10,30,1,30,,,,,,,"));
}

TEST_CASE("text shows a part of the columns, and none that no row fills", "[report]") {
  const std::string text = calls_report(two_ranks(), ReportFormat::kText);
  INFO(text);
  for (const char* title : {"Collective", "Rank", "Number", "Bytes", "Work begin", "GPU sum", "Range of wait", "RING"})
    CHECK(has(text, title));
  for (const char* title : {"Source", "Process ", "Elements", "Parts", "Kernels", "Range id"})
    CHECK_FALSE(has(text, title));
  TimelineBuilder host;
  CollectiveRow row;
  row.kind = CollectiveKind::kBarrier;
  row.thread = ThreadIndex(0);
  row.begin_ns = 1;
  row.end_ns = 5;
  host.call("f", 0, 9).timeline().collectives.append(row);
  const std::string alone = calls_report(host.build(), ReportFormat::kText);
  INFO(alone);
  CHECK(has(alone, "barrier"));
  CHECK(has(alone, "Process"));  // of ranks that are not known
  for (const char* title : {"GPU sum", "Algorithm", "Channels", "Peer", "Range of wait"})
    CHECK_FALSE(has(alone, title));
}

TEST_CASE("calls of collectives are filtered, sorted and limited as rows of other views", "[report]") {
  const Timeline timeline = two_ranks();
  ReportOptions options;
  options.filter = "all_re";
  CHECK(calls_columns(timeline, "collective,rank", options) == "Collective,Rank\nall_reduce,0\nall_reduce,1\n");
  options.sort = "work";
  options.top = 1;
  CHECK(calls_columns(timeline, "rank,work_ns", options) == "Rank,Work (ns)\n0,300\n");
  options.filter = "^broad";
  options.filter_is_regex = true;
  CHECK(calls_columns(timeline, "collective,call_begin", options) == "Collective,Call begin (ns)\nbroadcast,\n");
}

TEST_CASE("JSON has numbers as numbers, and null for what is not known", "[report]") {
  ReportOptions options;
  options.format = ReportFormat::kJson;
  options.filter = "all_to_all";
  const std::string json = calls_report(two_ranks(), options);
  INFO(json);
  for (const char* member :
       {"\"rank\": 1", "\"number\": null", "\"elements_in\": 8", "\"peer\": 1", "\"bytes_b\": null",
        "\"parts_in\": \"[3, 5]\"", "\"call_begin_ns\": 650", "\"work_ns\": null"})
    CHECK(has(json, member));
}

TEST_CASE("collective calls of a trace of torch.profiler have sizes, kernels and threads", "[report][data]") {
  const std::string path = shared_file("data/kineto/nccl_a100_rank0of2.json.gz");
  if (path.empty()) {
    std::cout << "skipped: no collection of real traces beside the source tree\n";
    return;
  }
  const Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline);
  const std::string csv = calls_columns(*timeline, "collective,rank,group,ranks,number,type,bytes,kernels");
  INFO(csv);
  CHECK(lines_in(csv) == timeline->collectives.size() + 1);
  // In the trace's arguments: 53,120 elements in the first call, 2,049,000 in the third.
  CHECK(
      has(csv,
          "Collective,Rank,Group,Ranks,Number,Type,Bytes (B),Kernels\nbroadcast,0,0 (default_pg),2,,Float,212480,1\n"));
  CHECK(has(csv, "\nall_reduce,0,0 (default_pg),2,,Float,8196000,1\n"));
}
