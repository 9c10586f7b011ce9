// SPDX-License-Identifier: MIT
//
// The views of what happens around launches: launches, api_ranges, sync, overhead, allocations.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::string launch_report(const Timeline& timeline, std::string_view view, ReportFormat format = ReportFormat::kCsv,
                          bool instances = false) {
  ReportOptions options;
  options.view = view;
  options.format = format;
  options.instances = instances;
  return rendered(timeline, options);
}

void describe_h100(DeviceInfo& device) {
  device.compute_major = 9;
  device.multiprocessors = 132;
  device.warp_size = 32;
  device.max_threads_per_multiprocessor = 2048;
  device.max_blocks_per_multiprocessor = 32;
  device.registers_per_block = device.registers_per_multiprocessor = 65536;
  device.shared_bytes_per_multiprocessor = 233472;
}

void add_overhead(TimelineBuilder& builder, const char* kind, ThreadIndex thread, std::int64_t begin,
                  std::int64_t end) {
  OverheadTable& overheads = builder.timeline().overheads;
  overheads.append({.name = builder.timeline().intern(kind), .thread = thread, .begin_ns = begin, .end_ns = end});
}

void add_sync(TimelineBuilder& builder, std::uint32_t type, std::int64_t begin, std::int64_t end, StreamIndex stream,
              StreamIndex event_stream = kNone) {
  SyncTable& syncs = builder.timeline().syncs;
  syncs.append({.type = type,
                .stream = stream,
                .device = DeviceIndex{0},
                .begin_ns = begin,
                .end_ns = end,
                .correlation = builder.timeline().calls.correlation[builder.timeline().calls.size() - 1],
                .event_stream = event_stream});
}

TimelineBuilder waiting_program() {
  TimelineBuilder builder;
  builder.timeline().threads[0].name = "main";
  builder.range("step", 0, 1'000).launch_call("cudaLaunchKernel", 10, 20).kernel(30, 500, "gemm");
  builder.range("loss.item", 100, 900).call("cudaStreamSynchronize", 110, 510);
  add_sync(builder, 3, 112, 508, StreamIndex{0});
  builder.on_thread(2).call("cudaStreamWaitEvent", 50, 55);
  add_sync(builder, 2, 51, 54, StreamIndex{0}, StreamIndex{0});
  builder.call("cudaEventSynchronize", 600, 700);
  add_sync(builder, 1, 600, 700, kNone);
  return builder;
}

}  // namespace

TEST_CASE("sync says who waited, where, why, and for what", "[report]") {
  const Timeline timeline = waiting_program().build();
  const std::string csv = launch_report(timeline, "sync");
  INFO(csv);
  CHECK(csv ==
        "Range,Reason,Call,Thread,Count,Blocked (ns),Share (%),Avg (ns),Max (ns),GPU busy (ns),Waited for\n"
        "loss.item,stream,cudaStreamSynchronize,main,1,396,79.8,396,396,388,gemm\n"
        "(outside any range),event,cudaEventSynchronize,2,1,100,20.2,100,100,,\n"
        "(outside any range),stream waits for event,cudaStreamWaitEvent,2,1,,,,,,\n");
  const std::string text = launch_report(timeline, "sync", ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "sync: 1 waits for an event: the input does not say on which stream the event was recorded"));
  const std::string each = launch_report(timeline, "sync", ReportFormat::kCsv, true);
  INFO(each);
  CHECK(has(each, "\nstep/loss.item,stream,cudaStreamSynchronize,main,112,396,7,388,500,gemm,2\n"));
  CHECK(has(each, "\n(outside any range),stream waits for event,cudaStreamWaitEvent,2,51,3,7,,,,\n"));
}

TEST_CASE("sync has copies that hold the host up", "[report]") {
  const Timeline timeline = TimelineBuilder()
                                .range("step", 0, 1'000)
                                .launch(1)
                                .kernel(2, 50, "gemm")
                                .launch_call("cudaMemcpy", 10, 90)
                                .memcpy(60, 85, 64, 2)
                                .call("cudaFree", 100, 110)
                                .build();
  const std::string csv = launch_report(timeline, "sync");
  INFO(csv);
  CHECK(has(csv, "\nstep,copy,cudaMemcpy,1,1,80,88.9,80,80,65,memcpy\n"));
  CHECK(has(csv, "\nstep,free,cudaFree,1,1,10,11.1,10,10,0,\n"));
}

TEST_CASE("sync without records goes by calls, and says so", "[report]") {
  Timeline timeline =
      TimelineBuilder().range("step", 0, 100).call("cudaDeviceSynchronize", 10, 60).launch(1).kernel(2, 50).build();
  CHECK(has(launch_report(timeline, "sync"), "\nstep,device,cudaDeviceSynchronize,1,1,50,100.0,50,50,40,kernel\n"));
  CHECK(has(launch_report(timeline, "sync", ReportFormat::kJson), "sync: this input has no synchronisation records"));
  timeline.calls = {};
  const std::string lacking = launch_report(timeline, "sync", ReportFormat::kText);
  CHECK(has(lacking, "does not have: synchronisations or API calls"));
  CHECK_FALSE(has(lacking, "no such data"));
}

TEST_CASE("a view of what did not happen says that it is empty", "[report]") {
  const Timeline timeline =
      TimelineBuilder().range("step", 0, 100).launch_call("cudaLaunchKernel", 10, 20).kernel(30, 50).build();
  CHECK(has(launch_report(timeline, "sync", ReportFormat::kText), "sync: this input has no such data"));
  CHECK(has(launch_report(timeline, "sync", ReportFormat::kJson), "sync: this input has no such data"));
  CHECK_FALSE(has(launch_report(timeline, "ranges", ReportFormat::kText), "no such data"));
}

TEST_CASE("api_ranges says how much of a range is spent in which calls", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).call("cudaMalloc", 10, 30).range("inner", 40, 60).call("cudaMalloc", 45, 50);
  builder.call("cudaFree", 200, 201);
  const Timeline timeline = builder.build();
  const std::string csv = launch_report(timeline, "api_ranges");
  INFO(csv);
  CHECK(csv ==
        "Range,Call,Count,Time (ns),Share of range (%),Self (ns),Avg (ns),Max (ns)\n"
        "step,cudaMalloc,2,25,25.0,20,13,20\n"
        "inner,cudaMalloc,1,5,25.0,5,5,5\n"
        "(outside any range),cudaFree,1,1,,1,1,1\n");
  CHECK(has(launch_report(timeline, "api_ranges:summary"), "\nstep,,2,25,25.0,20,13,20\n"));
}

TEST_CASE("overhead has one row per kind, thread and range, and its cause", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 1'000).range("first", 100, 500);
  add_overhead(builder, "Lazy Function Loading", ThreadIndex{0}, 150, 350);
  add_overhead(builder, "Buffer Flush", kNone, 600, 640);
  add_overhead(builder, "Lazy Function Loading", ThreadIndex{0}, 400, 450);
  const Timeline timeline = builder.build();
  const std::string csv = launch_report(timeline, "overhead");
  INFO(csv);
  CHECK(csv ==
        "Kind,Cause,Thread,Range,Count,Total (ns),Share of recording (%),Avg (ns),Max (ns)\n"
        "Lazy Function Loading,CUDA,1,first,2,250,25.0,125,200\n"
        "Buffer Flush,profiler,,(thread not known),1,40,4.0,40,40\n");
  CHECK(has(launch_report(timeline, "overhead", ReportFormat::kCsv, true),
            "\nBuffer Flush,profiler,600,40,,(thread not known)\n"));
  CHECK(has(launch_report(TimelineBuilder().range("a", 0, 1).build(), "overhead", ReportFormat::kText),
            "overhead needs data that this input does not have"));
}

TEST_CASE("profiling that costs much is said below every report", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 1'000);
  add_overhead(builder, "Instrumentation", ThreadIndex{0}, 0, 50);
  CHECK_FALSE(has(launch_report(builder.build(), "ranges", ReportFormat::kText), "profiling overhead"));
  builder.range("step", 0, 1'000);
  add_overhead(builder, "Instrumentation", ThreadIndex{0}, 0, 50);
  add_overhead(builder, "Instrumentation", ThreadIndex{0}, 100, 173);
  add_overhead(builder, "Lazy Function Loading", ThreadIndex{0}, 200, 900);
  const Timeline timeline = builder.build();
  CHECK(has(launch_report(timeline, "ranges", ReportFormat::kText),
            "profiling overhead is 12.3 % of the recording, 123 ns; for details: --view overhead"));
  CHECK(has(launch_report(timeline, "ranges", ReportFormat::kJson), "profiling overhead is 12.3 %"));
}

TEST_CASE("allocations says who allocates past the caching allocator, how much, and what stays", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 1'000);
  CudaAllocationTable& table = builder.timeline().cuda_allocations;
  const auto add = [&](const char* function, std::int64_t time, std::uint64_t address, std::uint64_t bytes,
                       bool freed) {
    builder.call(function, time, time + 20);
    table.append({.time_ns = time + 10,
                  .freed = freed,
                  .memory = 3,
                  .device = DeviceIndex{0},
                  .address = address,
                  .bytes = bytes,
                  .correlation = builder.timeline().calls.correlation[builder.timeline().calls.size() - 1]});
  };
  add("cudaMalloc", 100, 4096, 1'000, false);
  add("cudaFree", 200, 4096, 1'000, true);
  add("cudaMalloc", 300, 4096, 3'000, false);
  add("cudaMalloc", 2'000, 8192, 5, false);
  const Timeline timeline = builder.build();
  const std::string csv = launch_report(timeline, "allocations");
  INFO(csv);
  CHECK(csv ==
        "Range,Call,Memory,Thread,Count,Host (ns),Host avg (ns),Allocated (B),Freed (B),Largest (B),Kept (B)\n"
        "step,cudaMalloc,Device 0,1,2,40,20,4000,0,3000,3000\n"
        "(outside any range),cudaMalloc,Device 0,1,1,20,20,5,0,5,5\n"
        "step,cudaFree,Device 0,1,1,20,20,0,1000,1000,0\n");
  const std::string each = launch_report(timeline, "allocations", ReportFormat::kCsv, true);
  INFO(each);
  CHECK(has(each, "\nstep,cudaFree,Device 0,1,210,20,,1000,0x1000,,\n"));
  CHECK(has(each, "\nstep,cudaMalloc,Device 0,1,310,20,3000,,0x1000,,3000\n"));
}

TEST_CASE("allocations without records goes by calls, and says so", "[report]") {
  const Timeline timeline = TimelineBuilder()
                                .range("step", 0, 100)
                                .call("cudaMalloc", 10, 30)
                                .call("cuMemAlloc_v2", 12, 28, CallDomain::kDriver)
                                .call("cudaFreeHost", 40, 45)
                                .call("cudaLaunchKernel", 50, 60)
                                .build();
  const std::string csv = launch_report(timeline, "allocations");
  INFO(csv);
  CHECK(has(csv, "\nstep,cudaMalloc,,1,1,20,20,,,,\nstep,cudaFreeHost,,1,1,5,5,,,,\n"));
  CHECK(has(launch_report(timeline, "allocations", ReportFormat::kJson),
            "allocations: this input has no allocation records"));
}

TEST_CASE("launches tells what is unusual about a launch", "[report]") {
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchCooperativeKernel", 0, 10).kernel(30, 130, "grid_sync");
  Timeline& timeline = builder.timeline();
  timeline.kernel_details.back().launch_type = 1;
  timeline.kernel_details.back().local_bytes_per_thread = 48;
  change_row(timeline.activities, 0, [](ActivityRow& kernel) { kernel.queued_ns = 5, kernel.submitted_ns = 12; });
  const std::string csv = launch_report(timeline, "launches");
  INFO(csv);
  CHECK(has(csv, ",48,cooperative,"));
  CHECK(has(csv, ",7,7,18,18,0\n"));
}

TEST_CASE("launches has one row per configuration, with occupancy, limit and waits", "[report]") {
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchKernel", 0, 10).kernel(30, 130, "gemm");
  builder.launch_call("cudaLaunchKernel", 20, 30).kernel(130, 240, "gemm");
  Timeline& timeline = builder.timeline();
  describe_h100(timeline.devices[0]);
  for (KernelDetail& detail : timeline.kernel_details) {
    detail.grid[0] = 132 * 4, detail.grid[1] = detail.grid[2] = 1;
    detail.block[0] = 256, detail.block[1] = detail.block[2] = 1;
    detail.registers_per_thread = 128;
    detail.dynamic_shared_bytes = 1024;
  }
  const std::string csv = launch_report(timeline, "launches");
  INFO(csv);
  CHECK(
      csv ==
      "Kernel,Count,Total (ns),Device,Grid,Block,Cluster,Registers,Shared (B),Local a thread (B),Launch,Occupancy "
      "(%),Achieved est. (%),Limit,Waves,Launch delay median (ns),Launch delay max (ns),Queue median (ns),Queue max "
      "(ns),Command buffer median (ns),Command buffer max (ns),On device queue median (ns),On device queue max (ns),In "
      "graphs\n"
      "gemm,2,210,0,528x1x1,256x1x1,,128,1024,,,25.0,25,registers,2.00,70,110,60,100,,,,,0\n");
  CHECK_FALSE(has(launch_report(timeline, "launches", ReportFormat::kText), "Local a thread"));
  timeline.devices[0] = {};
  CHECK(has(launch_report(timeline, "launches"), "\ngemm,2,210,0,528x1x1,256x1x1,,128,1024,,,,,,,70,110,"));
  CHECK(has(launch_report(timeline, "launches", ReportFormat::kText), "no occupancy for kernels whose device"));
}
