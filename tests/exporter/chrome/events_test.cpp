// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::int64_t argument(const TraceEvent& event, const std::string& key) { return event[key].integer(); }

}  // namespace

TEST_CASE("each kind of host slice has its category and its row", "[exporter]") {
  const Exported trace = Exported::of(TimelineBuilder()
                                          .range("step", 0, 1000)
                                          .range("aten::mm", 100, 900)
                                          .of_kind(RangeKind::kOperator)
                                          .range("train.py(7): main", 110, 800)
                                          .of_kind(RangeKind::kPythonFunction)
                                          .range("odd", 120, 130)
                                          .of_kind(RangeKind::kOther)
                                          .in_category("jit")
                                          .launch_call("cudaLaunchKernel", 200, 250)
                                          .call("cuLaunchKernel", 300, 310, CallDomain::kDriver)
                                          .build());
  require_sound(trace);
  const TraceEvent step = trace.one("user_annotation", "step");
  CHECK(step.time_ns == 0);
  CHECK(step.duration_ns == 1000);
  CHECK(step.row == "CPU / 1");
  CHECK(trace.one("cpu_op", "aten::mm").duration_ns == 800);
  CHECK(trace.one("python_function", "train.py(7): main").duration_ns == 690);
  CHECK(trace.one("jit", "odd").duration_ns == 10);
  const TraceEvent launch = trace.one("cuda_runtime", "cudaLaunchKernel");
  CHECK(launch.duration_ns == 50);
  CHECK(argument(launch, "correlation") == 1);
  CHECK_FALSE(launch.has("result"));
  CHECK(trace.one("cuda_driver", "cuLaunchKernel").duration_ns == 10);
}

TEST_CASE("a range says its domain, category, value, and that it never ended", "[exporter]") {
  TimelineBuilder builder;
  builder.range("open", 0, 500).in_domain("nccl").in_category("comm").flagged(kUnfinished);
  builder.timeline().attachments.push_back(
      {Attachment::Target::kRange, Attachment::Type::kSigned, 0, static_cast<std::uint64_t>(-7)});
  const Exported trace = Exported::of(builder.build());
  require_sound(trace);
  const TraceEvent open = trace.one("user_annotation", "open");
  CHECK(open["domain"].text() == "nccl");
  CHECK(open["category"].text() == "comm");
  CHECK(open["finished"].text() == "false");
  CHECK(argument(open, "payload") == -7);
}

TEST_CASE("values of every type are exact", "[exporter]") {
  const auto payload_of = [](Attachment::Type type, std::uint64_t bits) {
    TimelineBuilder builder;
    builder.range("r", 0, 10);
    builder.timeline().attachments.push_back({Attachment::Target::kRange, type, 0, bits});
    return Exported::of(builder.build()).one("user_annotation", "r")["payload"].text();
  };
  const auto bits_of = [](double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  };
  CHECK(payload_of(Attachment::Type::kUnsigned, std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(payload_of(Attachment::Type::kSigned, std::uint64_t{1} << 63) == "-9223372036854775808");
  CHECK(payload_of(Attachment::Type::kDouble, bits_of(0.1)) == "0.1");
  CHECK(payload_of(Attachment::Type::kDouble, bits_of(-1e300)) == "-1e+300");
  CHECK(payload_of(Attachment::Type::kDouble, bits_of(std::numeric_limits<double>::infinity())) == "Infinity");
  CHECK(payload_of(Attachment::Type::kDouble, bits_of(std::numeric_limits<double>::quiet_NaN())) == "NaN");
}

TEST_CASE("a kernel has torch.profiler's arguments, on its stream's row", "[exporter]") {
  const Exported trace = Exported::of(CaptureBuilder()
                                          .h100()
                                          .range("step", 0, 1000)
                                          .launch(100)
                                          .call("cudaLaunchKernel_v7000", 90, 150)
                                          .kernel("gemm", 200, 900));
  require_sound(trace);
  const TraceEvent kernel = trace.one("kernel", "gemm");
  CHECK(kernel.row == "GPU 0 / stream 7");
  CHECK(kernel.duration_ns == 700);
  CHECK(argument(kernel, "device") == 0);
  CHECK(argument(kernel, "context") == 1);
  CHECK(argument(kernel, "stream") == 7);
  CHECK(argument(kernel, "correlation") == 1);
  CHECK(argument(kernel, "registers per thread") == 32);
  CHECK(argument(kernel, "blocks per SM") == 2);
  CHECK(argument(kernel, "warps per SM") == 8);
  CHECK(argument(kernel, "est. achieved occupancy %") == 12);
  CHECK(kernel["grid"][0].integer() == 264);
  CHECK(kernel["block"][0].integer() == 128);
  CHECK(argument(kernel, "External id") == argument(trace.one("user_annotation", "step"), "External id"));
}

TEST_CASE("copies and memsets have bytes and bandwidth, and none where they took no time", "[exporter]") {
  const Exported trace = Exported::of(CaptureBuilder()
                                          .launch(10)
                                          .memcpy(100, 1100, 64'000, 1)
                                          .launch(20)
                                          .memcpy(2000, 2000, 10, 2)
                                          .launch(30)
                                          .memset(3000, 3003, 1000));
  require_sound(trace);
  const TraceEvent in = trace.one("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)");
  CHECK(argument(in, "bytes") == 64'000);
  CHECK(in["memory bandwidth (GB/s)"].text() == "64");
  const TraceEvent out = trace.one("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)");
  CHECK(argument(out, "bytes") == 10);
  CHECK_FALSE(out.has("memory bandwidth (GB/s)"));
  CHECK(trace.one("gpu_memset", "Memset (Device)")["memory bandwidth (GB/s)"].text() == "333.333333");
}

TEST_CASE("marks, counters and steps are there, with exact values", "[exporter]") {
  const Exported trace = Exported::of(CaptureBuilder()
                                          .range("r", 0, 5000)
                                          .mark("epoch", 100, "loop")
                                          .payload(std::uint64_t{3})
                                          .counter("loss", 200, 0.25)
                                          .counter("tokens", 300, std::int64_t{-9'007'199'254'740'993})
                                          .counter("broken", 400, std::numeric_limits<double>::quiet_NaN())
                                          .step(0, 1000)
                                          .step(1, 2000)
                                          .step(2, 4000));
  require_sound(trace);
  const TraceEvent mark = trace.one("loop", "epoch");
  CHECK(mark.phase == "i");
  CHECK(argument(mark, "payload") == 3);
  std::vector<std::string> counters;
  for (const TraceEvent& event : trace.events)
    if (event.phase == "C") counters.push_back(event.name + "=" + event["value"].text());
  CHECK(counters == std::vector<std::string>{"loss=0.25", "tokens=-9007199254740993"});
  CHECK(trace.report.left_out == 1);
  REQUIRE(trace.report.notes.size() == 1);
  CHECK(trace.report.notes[0] == "1 counter samples left out: not finite");
  CHECK(trace.one("user_annotation", "ProfilerStep#0").duration_ns == 1000);
  CHECK(trace.one("user_annotation", "ProfilerStep#1").duration_ns == 2000);
  CHECK(trace.one("user_annotation", "ProfilerStep#1").row == "CPU / steps");
}

TEST_CASE("a pause of one step is no step of an export", "[exporter]") {
  const Exported trace = Exported::of(CaptureBuilder()
                                          .range("work", 0, 5000)
                                          .step(0, 1000)
                                          .step(1, 2000)
                                          .step(2, 3000, false)
                                          .step(3, 4000)
                                          .step(4, 4500, false));
  std::vector<std::string> steps;
  for (const TraceEvent& event : trace.events)
    if (event.name.starts_with("ProfilerStep#")) steps.push_back(event.name);
  CHECK(steps == std::vector<std::string>{"ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#3"});
}

TEST_CASE("the items of steps are on them, and a counter has the rate", "[exporter]") {
  CaptureBuilder capture;
  capture.range("work", 0, 9'000'000).step(0, 1'000'000).step(1, 2'000'000).payload(std::uint64_t{64});
  capture.step(2, 4'000'000).payload(std::uint64_t{67});
  // Step 2 says nothing, and behind step 3 is a pause.
  capture.step(3, 5'000'000).step(4, 6'000'000, false).payload(std::uint64_t{50});
  capture.step(7, 7'000'000).step(8, 8'000'000).payload(std::uint64_t{1});
  const ScratchFolder folder;
  capture.write(folder.file("x.rfcap"));
  const Result<Timeline> loaded = load_timeline(folder.file("x.rfcap"));
  REQUIRE(loaded);
  REQUIRE(loaded->steps.items == std::vector<std::uint64_t>{64, 67, 0, 50, 1});
  for (const Exported& trace : {Exported::of(capture), Exported::of(*loaded)}) {
    require_sound(trace);
    const std::int64_t origin = trace.one("user_annotation", "work").time_ns;
    CHECK(argument(trace.one("user_annotation", "ProfilerStep#0"), "items") == 64);
    CHECK(argument(trace.one("user_annotation", "ProfilerStep#1"), "items") == 67);
    CHECK_FALSE(trace.one("user_annotation", "ProfilerStep#2").has("items"));
    std::vector<std::string> rates;
    for (const TraceEvent& event : trace.events)
      if (event.phase == "C")
        rates.push_back(event.name + " " + std::to_string((event.time_ns - origin) / 1'000'000) + ": " +
                        event["value"].text());
    CHECK(rates == std::vector<std::string>{"items/s 1: 64000", "items/s 2: 33500", "items/s 4: 0", "items/s 5: 50000",
                                            "items/s 6: 0", "items/s 7: 1000", "items/s 8: 0"});
  }
  ChromeExportOptions options;
  SECTION("without counters") { options.counters = false; }
  SECTION("a window begins in a step") {
    options.begin_ns = loaded->steps.begin_ns[1] + 500'000;
    options.end_ns = loaded->steps.begin_ns[1] + 600'000;
  }
  const Exported part = Exported::of(*loaded, options);
  std::vector<std::string> rates;
  for (const TraceEvent& event : part.events)
    if (event.phase == "C") rates.push_back(event["value"].text());
  CHECK(rates == (options.counters ? std::vector<std::string>{"33500"} : std::vector<std::string>{}));
  CHECK(argument(part.one("user_annotation", "ProfilerStep#1"), "items") == 67);
}

TEST_CASE("a step that two threads noted is known once both have told all", "[exporter]") {
  CaptureBuilder capture;
  capture.on_thread(1, "a").step(0, 1'000).payload(std::uint64_t{3});
  capture.on_thread(2, "b").step(1, 2'000);
  capture.on_thread(1).step(2, 3'000).payload(std::uint64_t{5});
  capture.on_thread(2).step(3, 4'000).payload(std::uint64_t{7});
  const Exported trace = Exported::of(capture);
  require_sound(trace);
  CHECK(trace.one("user_annotation", "ProfilerStep#0").duration_ns == 1'000);
  CHECK_FALSE(trace.one("user_annotation", "ProfilerStep#0").has("items"));
  CHECK(argument(trace.one("user_annotation", "ProfilerStep#1"), "items") == 5);
  CHECK(argument(trace.one("user_annotation", "ProfilerStep#2"), "items") == 7);
}

TEST_CASE("waits and overheads have rows of their own where no thread is known", "[exporter]") {
  const Exported trace = Exported::of(CaptureBuilder()
                                          .launch(10)
                                          .kernel("k", 20, 30)
                                          .correlation(40)
                                          .sync(3, 100, 200)
                                          .correlation(41)
                                          .sync(4, 300, 400)
                                          .overhead(1, 500, 600));
  require_sound(trace);
  const TraceEvent stream = trace.one("cuda_sync", "Stream Sync");
  CHECK(stream.row == "GPU 0 / stream 7 waits");
  CHECK(argument(stream, "stream") == 7);
  CHECK(argument(stream, "correlation") == 40);
  const TraceEvent context = trace.one("cuda_sync", "Context Sync");
  CHECK(context.row == "GPU 0 / device waits");
  CHECK(argument(context, "stream") == -1);
  CHECK(trace.all("overhead").size() == 1);
}

TEST_CASE("allocation calls are instants of their device, compiling is overhead of its thread", "[exporter]") {
  const auto capture = CaptureBuilder()
                           .h100()
                           .launch(10)
                           .kernel("k", 20, 30)
                           .correlation(40)
                           .call("cudaMalloc", 100, 120)
                           .allocation(110, 4096, 512)
                           .correlation(41)
                           .call("cudaFreeHost", 200, 220)
                           .allocation(210, 8192, 64, true, 2)
                           .jit(300, 350);
  const auto check = [](const Exported& trace) {
    require_sound(trace);
    const TraceEvent made = trace.one("cuda_memory", "Allocate (Device)");
    CHECK(made.row == "GPU 0 / allocation calls");
    CHECK(argument(made, "Addr") == 4096);
    CHECK(argument(made, "Bytes") == 512);
    CHECK(argument(made, "correlation") == 40);
    CHECK(argument(made, "device") == 0);
    CHECK_FALSE(made.has("stream"));
    CHECK(argument(trace.one("cuda_memory", "Free (Pinned)"), "Bytes") == 64);
    CHECK(trace.one("overhead", "JIT Compile (PTX to cubin)").duration_ns == 50);
  };
  SECTION("streamed") { check(Exported::of(capture)); }
  SECTION("by way of a timeline") {
    ChromeExportOptions options;
    options.attribution = Attribution::kForward;
    check(Exported::of(capture, options));
  }
}

TEST_CASE("start/end ranges, which need not nest, stand beside their thread's row", "[exporter]") {
  const Exported trace = Exported::of(
      CaptureBuilder().range("scoped", 0, 100).start_end("request 1", 50, 200).start_end("request 2", 60, 300));
  require_sound(trace);
  CHECK(trace.one("user_annotation", "scoped").row == "CPU / main");
  CHECK(trace.one("user_annotation", "request 1").row.starts_with("CPU / main start/end ranges"));
  CHECK(trace.one("user_annotation", "request 1").row != trace.one("user_annotation", "request 2").row);
}

TEST_CASE("times keep their nanoseconds, whatever they are", "[exporter]") {
  SECTION("negative and without length") {
    const Exported trace = Exported::of(TimelineBuilder()
                                            .range("backwards", 500, 400)
                                            .range("empty", 600, 600)
                                            .range("long", 1, 1'234'567'891)
                                            .build());
    require_sound(trace);
    CHECK(trace.one("user_annotation", "backwards").duration_ns == 0);
    CHECK(trace.one("user_annotation", "empty").duration_ns == 0);
    CHECK(trace.one("user_annotation", "long").duration_ns == 1'234'567'890);
  }
  SECTION("as far from 0 as there is room") {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const Exported trace = Exported::of(
        TimelineBuilder().range("late", most - 1000, most - 1).range("later", most - 900, most - 899).build());
    require_sound(trace);
    CHECK(trace.one("user_annotation", "late").duration_ns == 999);
    CHECK(trace.one("user_annotation", "later").time_ns - trace.one("user_annotation", "late").time_ns == 100);
  }
}

TEST_CASE("of what cuts, the lighter slice stands on a row beside and is counted", "[exporter]") {
  const Exported trace = Exported::of(TimelineBuilder().range("step", 0, 100).call("cudaMalloc", 90, 120).build());
  require_sound(trace);
  CHECK(trace.one("user_annotation", "step").row == "CPU / 1");
  CHECK(trace.one("cuda_runtime", "cudaMalloc").row == "CPU / thread 1, overlapping 1");
  CHECK(trace.report.overlapping == 1);
  CHECK(trace.report.left_out == 0);
}

TEST_CASE("options leave out what they name and nothing else", "[exporter]") {
  const auto capture = CaptureBuilder()
                           .range("step", 0, 1000)
                           .launch(100)
                           .call("cudaLaunchKernel", 100, 120)
                           .kernel("k", 200, 300)
                           .correlation(9)
                           .sync(3, 400, 500)
                           .overhead(1, 600, 700)
                           .counter("loss", 800, 1.0);
  const auto count = [&](const ChromeExportOptions& options, const std::string& category) {
    const Exported trace = Exported::of(capture, options);
    require_sound(trace);
    if (category == "C")
      return static_cast<std::size_t>(
          std::count_if(trace.events.begin(), trace.events.end(), [](const auto& e) { return e.phase == "C"; }));
    return category == "arrows" ? trace.arrows().size() : trace.all(category).size();
  };
  ChromeExportOptions options;
  CHECK(count(options, "cuda_runtime") == 1);
  options.api_calls = false;
  CHECK(count(options, "cuda_runtime") == 0);
  CHECK(count(options, "kernel") == 1);
  CHECK(count(options, "arrows") == 1);  // begins at the range instead
  options = {};
  options.syncs = false;
  CHECK(count(options, "cuda_sync") == 0);
  options = {};
  options.overheads = false;
  CHECK(count(options, "overhead") == 0);
  options = {};
  options.counters = false;
  CHECK(count(options, "C") == 0);
  options = {};
  options.flows = false;
  CHECK(count(options, "arrows") == 0);
  options = {};
  CHECK(count(options, "gpu_user_annotation") == 1);
  options.inclusive_ranges = false;
  CHECK(count(options, "gpu_user_annotation") == 1);
  options.exclusive_ranges = false;
  CHECK(count(options, "gpu_user_annotation") == 0);
}

TEST_CASE("a window of time holds what reaches into it, uncut", "[exporter]") {
  ChromeExportOptions options;
  options.begin_ns = CaptureBuilder::at(500);
  options.end_ns = CaptureBuilder::at(1000);
  const Exported trace = Exported::of(CaptureBuilder()
                                          .range("before", 0, 500)
                                          .range("into", 501, 700)
                                          .range("behind", 1000, 1100)
                                          .launch(510)
                                          .kernel("inside", 600, 900)
                                          .launch(520)
                                          .kernel("across", 950, 1500)
                                          .launch(530)
                                          .kernel("late", 1600, 1700),
                                      options);
  require_sound(trace);
  CHECK(trace.all("user_annotation", "before").empty());
  CHECK(trace.all("user_annotation", "into").size() == 1);
  CHECK(trace.all("user_annotation", "behind").empty());
  CHECK(trace.one("kernel", "across").duration_ns == 550);
  CHECK(trace.all("kernel", "late").empty());
}

TEST_CASE("allocators' events are the instants of profile_memory, and series of totals", "[exporter]") {
  CaptureBuilder capture;
  capture.range("step", 0, 1000);
  capture.memory(MemoryAction::kAllocate, 10, -1, {0x1000, 512, 512});
  capture.memory(MemoryAction::kFree, 20, 1, {0x2000, 64, 4096, 8192, 7});
  capture.memory(MemoryAction::kSegmentAllocate, 30, 1, {0x3000, 4096, 4096, 12288});
  capture.memory(MemoryAction::kOutOfMemory, 40, 1, {0, 1 << 30});
  SECTION("both") {
    const Exported trace = Exported::of(capture);
    require_sound(trace);
    const std::vector<TraceEvent> events = trace.all("cpu_instant_event");
    REQUIRE(events.size() == 3);
    CHECK(events[0].phase == "i");
    CHECK(events[0].name == "[memory]");
    CHECK(events[0].row == trace.one("user_annotation", "step").row);
    CHECK(argument(events[0], "Bytes") == 512);
    CHECK(argument(events[0], "Total Allocated") == 512);
    CHECK(argument(events[0], "Total Reserved") == 0);
    CHECK(argument(events[0], "Device Id") == -1);
    CHECK(argument(events[0], "Device Type") == 0);
    CHECK(argument(events[0], "Addr") == 0x1000);
    CHECK(argument(events[1], "Bytes") == -64);
    CHECK(argument(events[1], "Total Allocated") == 4096);
    CHECK(argument(events[1], "Total Reserved") == 8192);
    CHECK(argument(events[1], "Device Id") == 1);
    CHECK(argument(events[1], "Device Type") == 1);
    CHECK(events[2].name == "[OutOfMemory]");
    CHECK(argument(events[2], "Bytes") == 1 << 30);
    CHECK_FALSE(events[2].has("Total Allocated"));
    std::vector<std::string> samples;
    for (const TraceEvent& event : trace.events)
      if (event.phase == "C") samples.push_back(event.name + ": " + event["value"].text());
    CHECK(samples == std::vector<std::string>{"allocated bytes, host: 512", "allocated bytes, cuda:1: 4096",
                                              "reserved bytes, cuda:1: 12288"});
  }
  SECTION("instants alone, in the time that was asked for") {
    ChromeExportOptions options;
    options.counters = false;
    options.begin_ns = CaptureBuilder::at(15);
    options.end_ns = CaptureBuilder::at(35);
    const Exported trace = Exported::of(capture, options);
    CHECK(trace.all("cpu_instant_event").size() == 1);
    CHECK(std::none_of(trace.events.begin(), trace.events.end(), [](const auto& event) { return event.phase == "C"; }));
  }
}
