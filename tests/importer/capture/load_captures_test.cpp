// SPDX-License-Identifier: MIT
#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/loaded_capture.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"
#include "support/timeline_columns.hpp"
#include "timeline/finish.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// The name of the range that an activity was launched in.
std::string owner_of(const Timeline& timeline, ActivityIndex activity) {
  const std::uint32_t launch = timeline.activities.launch[activity];
  if (launch == kNone) return "(no launch)";
  const RangeIndex range = timeline.launches.range[launch];
  return range == kNone ? "(outside)" : std::string(timeline.text(timeline.ranges.name[range]));
}

}  // namespace

TEST_CASE("a capture becomes tables", "[importer]") {
  CaptureBuilder capture;
  capture.meta("program", "trainer").meta("host", "node7").meta("rank", "3").meta("world_size", "8").h100();
  capture.on_thread(42, "main").range("step", 0, 900, "phase").payload(std::string_view("text"));
  capture.launch(20).call("cudaLaunchKernel", 15, 40).kernel("gemm", 100, 300);
  capture.last_kernel().grid_x = 132;
  capture.launch(50).memcpy(300, 350, 4096, 2).launch(60).memset(360, 370, 100);
  capture.mark("mark", 700, "notes").counter("loss", 710, 0.5).counter("queue", 711, std::int64_t{-3});
  capture.sync(3, 720, 730).overhead(1, 740, 750);
  const Timeline timeline = load(capture);
  CHECK(timeline.format == InputFormat::kCapture);
  CHECK(timeline.range_end == RangeEnd::kOpen);
  CHECK(timeline.realtime_offset_ns == CaptureBuilder::kRealtimeOffset);
  REQUIRE(timeline.processes.size() == 1);
  CHECK(timeline.processes[0].name == "trainer");
  CHECK(timeline.processes[0].host == "node7");
  CHECK(timeline.processes[0].rank == 3);
  CHECK(timeline.processes[0].world_size == 8);
  CHECK(std::any_of(timeline.threads.begin(), timeline.threads.end(),
                    [](const ThreadInfo& t) { return t.tid == 42 && t.name == "main"; }));
  REQUIRE(timeline.devices.size() == 1);
  CHECK(timeline.devices[0].multiprocessors == 132);
  REQUIRE(timeline.ranges.size() == 1);
  CHECK(timeline.ranges.begin_ns[0] == at(0));
  CHECK(timeline.ranges.end_ns[0] == at(900));
  CHECK(timeline.text(timeline.ranges.category[0]) == "phase");
  REQUIRE(timeline.attachments.size() == 1);
  CHECK(timeline.text(static_cast<StringId>(timeline.attachments[0].bits)) == "text");
  REQUIRE(timeline.activities.size() == 3);
  CHECK(timeline.text(timeline.activities.name[0]) == "gemm");
  CHECK(timeline.activities.begin_ns[0] == at(100));
  CHECK(timeline.activities.end_ns[0] == at(300));
  CHECK(timeline.kernel_details[timeline.activities.detail[0]].grid[0] == 132);
  CHECK(timeline.activities.bytes[1] == 4096);
  CHECK(timeline.copy_details[timeline.activities.detail[1]].copy_kind == 2);
  for (ActivityIndex i{0}; i < 3; ++i) CHECK(owner_of(timeline, i) == "step");
  REQUIRE(timeline.calls.size() == 1);
  CHECK(timeline.launches.call[timeline.activities.launch[0]] == 0);
  CHECK(timeline.text(timeline.marks.category[0]) == "notes");
  CHECK(timeline.counters.is_integer == std::vector<bool>{false, true});
  CHECK(timeline.counters.number[0] == 0.5);
  CHECK(timeline.counters.integer[1] == -3);
  CHECK(timeline.syncs.begin_ns[0] == at(720));
  CHECK(timeline.overheads.end_ns[0] == at(750));
  CHECK(timeline.activities.queued_ns.empty());
  CHECK(timeline.begin_ns == at(0));
  CHECK(timeline.end_ns == at(900));
  CHECK(timeline.notes.empty());
  CHECK(timeline.health.complete());
}

TEST_CASE("allocation calls, compiling and latency timestamps become columns", "[importer]") {
  CaptureBuilder capture;
  capture.h100().on_thread(42, "main").range("step", 0, 900);
  capture.launch(10).kernel("plain", 20, 30).launch(50).kernel("timed", 100, 200);
  capture.last_kernel().queued_ns =
      static_cast<std::uint64_t>(CaptureBuilder::kStart + CaptureBuilder::kRealtimeOffset) + 60;
  capture.last_kernel().submitted_ns = capture.last_kernel().queued_ns + 5;
  capture.correlation(77).call("cudaMalloc", 300, 320).allocation(310, 0x1000, 4096);
  capture.correlation(78).call("cudaFreeHost", 400, 410).allocation(405, 0x2000, 64, true, 2);
  capture.jit(500, 650);
  const Timeline timeline = load(capture);
  const CudaAllocationTable& allocations = timeline.cuda_allocations;
  REQUIRE(allocations.size() == 2);
  CHECK(allocations.time_ns == std::vector<std::int64_t>{at(310), at(405)});
  CHECK(allocations.address == std::vector<std::uint64_t>{0x1000, 0x2000});
  CHECK(allocations.bytes == std::vector<std::uint64_t>{4096, 64});
  CHECK(allocations.freed == std::vector<bool>{false, true});
  CHECK(allocations.memory == std::vector<std::uint32_t>{3, 2});
  CHECK(numbers_of(allocations.device) == std::vector<std::uint32_t>{0, 0});
  CHECK(allocations.stream == std::vector<StreamIndex>{kNone, kNone});
  CHECK(allocations.correlation == std::vector<std::uint64_t>{77, 78});
  REQUIRE(timeline.overheads.size() == 1);
  CHECK(timeline.text(timeline.overheads.name[0]) == "JIT Compile (PTX to cubin)");
  CHECK(timeline.overheads.begin_ns[0] == at(500));
  CHECK(timeline.overheads.end_ns[0] == at(650));
  CHECK(timeline.threads[timeline.overheads.thread[0]].tid == 42);
  CHECK(timeline.activities.queued_ns[0] == kNoTime);
  CHECK(timeline.activities.queued_ns[1] == at(60));
  CHECK(timeline.activities.submitted_ns[0] == kNoTime);
  CHECK(timeline.activities.submitted_ns[1] == at(65));
}

TEST_CASE("kernels keep how they were launched", "[importer]") {
  CaptureBuilder capture;
  capture.launch(10).kernel("gemm", 20, 30);
  capture.last_kernel().launch_type = 1;
  capture.last_kernel().local_bytes_per_thread = 64;
  capture.last_kernel().shared_executed_bytes = 102400;
  capture.last_kernel().max_active_clusters = 66;
  const Timeline timeline = load(capture);
  REQUIRE(timeline.kernel_details.size() == 1);
  const KernelDetail& kernel = timeline.kernel_details[0];
  CHECK(kernel.launch_type == 1);
  CHECK(kernel.local_bytes_per_thread == 64);
  CHECK(kernel.shared_executed_bytes == 102400);
  CHECK(kernel.max_active_clusters == 66);
}

TEST_CASE("waits for events have the stream that the event was recorded on", "[importer]") {
  CaptureBuilder capture;
  capture.launch(10).kernel("gemm", 20, 30);
  capture.call("cudaEventSynchronize", 40, 60).sync(1, 41, 59).recorded_on(9);
  capture.call("cudaEventSynchronize", 70, 90).sync(1, 71, 89);
  const Timeline timeline = load(capture);
  REQUIRE(timeline.syncs.size() == 2);
  REQUIRE(timeline.syncs.event_stream[0] != kNone);
  CHECK(timeline.streams[timeline.syncs.event_stream[0]].id == 9);
  CHECK(timeline.streams[timeline.syncs.event_stream[0]].context == 1);
  CHECK(timeline.syncs.event_stream[1] == kNone);
}

TEST_CASE("a device knows the board that its sensors are on", "[importer]") {
  CaptureBuilder capture;
  format::DeviceSampleRow sample{};
  sample.present = kHasPower;
  capture.on_device(1).device_sample(10, sample).meta("nvml_board:1", "GPU-17").meta("nvml_mig:1", "on");
  capture.on_device(0).device_sample(10, sample).meta("nvml_board:7", "GPU-99");
  const Timeline timeline = load(capture);
  REQUIRE(timeline.devices.size() == 2);
  for (const DeviceInfo& device : timeline.devices) {
    CHECK(device.board == (device.id == 1 ? "GPU-17" : ""));
    CHECK(device.mig == (device.id == 1));
  }
}

TEST_CASE("operators tell their numbers, and their inputs where those are wanted", "[importer]") {
  CaptureBuilder capture;
  const std::string inputs = "[[2, 3], []]\n[\"float\", \"Scalar\"]\n[\"\", \"1\"]";
  capture.on_thread(1, "main").range("aten::linear", 0, 100, "operator").facts(7, 0, inputs);
  capture.range("aten::addmm", 10, 90, "operator").range("aten::t", 20, 30, "operator").facts(-1, 0, inputs);
  capture.on_thread(2, "engine").range("autograd::engine::evaluate_function: AddmmBackward0", 200, 300, "operator");
  capture.range("AddmmBackward0", 210, 290, "operator").facts(7, 5);
  capture.range("aten::mm", 220, 230, "operator").facts(8, 0, "not three lines");
  LoadOptions options;
  options.operator_inputs = GENERATE(false, true);
  const Timeline timeline = load(capture, options);
  const OperatorTable& operators = timeline.operators;
  // The engine's own range has the number of the node in it, as in Kineto's traces.
  CHECK(numbers_of(operators.range) == std::vector<std::uint32_t>{0, 2, 3, 4, 5});
  CHECK(operators.sequence == std::vector<std::int64_t>{7, -1, 7, 7, 8});
  CHECK(operators.forward_thread_id == std::vector<std::uint64_t>{0, 0, 5, 5, 0});
  for (const std::size_t row : {0, 1}) {
    CHECK(timeline.text(operators.shapes[row]) == (options.operator_inputs ? "[[2,3],[]]" : ""));
    CHECK(timeline.text(operators.types[row]) == (options.operator_inputs ? R"(["float","Scalar"])" : ""));
    CHECK(timeline.text(operators.values[row]) == (options.operator_inputs ? R"(["","1"])" : ""));
  }
  for (const std::size_t row : {2, 3, 4}) CHECK(operators.shapes[row] == StringId::kEmpty);
  CHECK(timeline.health.lost_names == (options.operator_inputs ? 1 : 0));  // that was never written so
}

TEST_CASE("a step ends where the next one begins, and a pause ends none", "[importer]") {
  CaptureBuilder capture;
  for (const auto& [number, time] : {std::pair{0u, 10}, {1u, 20}, {2u, 30}, {7u, 100}, {8u, 110}})
    capture.step(number, time);
  const Timeline timeline = load(capture);
  CHECK(timeline.steps.number == std::vector<std::int64_t>{0, 1, 7});
  CHECK(timeline.steps.end_ns == std::vector<std::int64_t>{at(20), at(30), at(110)});
  CHECK(timeline.steps.items == std::vector<std::uint64_t>{0, 0, 0});  // as in captures from before there were items
}

TEST_CASE("a pause of one step is no step", "[importer]") {
  CaptureBuilder capture;
  capture.step(0, 10).step(1, 20).step(2, 30, false).step(3, 40).step(4, 50, false);
  const Timeline timeline = load(capture);
  CHECK(timeline.steps.number == std::vector<std::int64_t>{0, 1, 3});
  CHECK(timeline.steps.end_ns == std::vector<std::int64_t>{at(20), at(30), at(50)});
}

TEST_CASE("items belong to the step that ends where they stand", "[importer]") {
  CaptureBuilder capture;
  capture.step(0, 10).step(1, 20).payload(std::uint64_t{500}).step(2, 30).step(3, 40).payload(~std::uint64_t{0});
  // A pause: what the program said of a step that was not recorded is ignored.
  capture.step(9, 100).payload(std::uint64_t{7}).step(10, 110).payload(std::uint64_t{8});
  const Timeline timeline = load(capture);
  CHECK(timeline.steps.number == std::vector<std::int64_t>{0, 1, 2, 9});
  CHECK(timeline.steps.items == std::vector<std::uint64_t>{500, 0, ~std::uint64_t{0}, 8});
}

TEST_CASE("steps noted on several threads keep their own items", "[importer]") {
  CaptureBuilder capture;
  capture.on_thread(1, "a").step(0, 10).step(2, 30).payload(std::uint64_t{2});
  capture.on_thread(2, "b").step(1, 20).payload(std::uint64_t{1}).step(3, 40).payload(std::uint64_t{3});
  const Timeline timeline = load(capture);
  CHECK(timeline.steps.number == std::vector<std::int64_t>{0, 1, 2});
  CHECK(timeline.steps.items == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("allocators' events are rows of the memory table", "[importer]") {
  CaptureBuilder capture;
  capture.on_thread(1).range("step", 0, 100);
  capture.memory(MemoryAction::kAllocate, 10, -1, {0x1000, 512, 512});
  capture.memory(MemoryAction::kFree, 150, 1, {0x2000, 64, 4096, 8192, 7, 3});
  capture.on_thread(2).memory(MemoryAction::kSegmentAllocate, 30, 0, {0x3000, 2 << 20, ~std::uint64_t{0}, 2 << 20});
  const auto check = [](const Timeline& timeline) {
    const AllocatorEventTable& memory = timeline.allocator_events;
    REQUIRE(memory.size() == 3);
    CHECK(memory.time_ns == std::vector<std::int64_t>{at(10), at(150), at(30)});
    CHECK(memory.device == std::vector<std::int32_t>{-1, 1, 0});
    CHECK(memory.action ==
          std::vector<MemoryAction>{MemoryAction::kAllocate, MemoryAction::kFree, MemoryAction::kSegmentAllocate});
    CHECK(memory.address == std::vector<std::uint64_t>{0x1000, 0x2000, 0x3000});
    CHECK(memory.bytes == std::vector<std::uint64_t>{512, 64, 2 << 20});
    CHECK(memory.allocated == std::vector<std::int64_t>{512, 4096, -1});
    CHECK(memory.reserved == std::vector<std::int64_t>{-1, 8192, 2 << 20});
    CHECK(memory.stream[1] == 7);
    CHECK(memory.pool[1] == 3);
    CHECK(timeline.threads[memory.thread[0]].tid == 1);
    CHECK(timeline.threads[memory.thread[2]].tid == 2);
    CHECK(timeline.end_ns == at(150));
    CHECK(timeline.health.complete());
  };
  SECTION("in one chunk") { check(load(capture)); }
  SECTION("with a chunk for each record") {
    capture.chunk_rows(1);
    check(load(capture));
  }
}

TEST_CASE("a launch after a range that ended on another thread is not in it", "[importer]") {
  CaptureBuilder capture;
  capture.on_thread(1, "a").range("outer", 0, 1'000).range_ended_on(2, "handed over", 10, 100);
  capture.launch(50).kernel("inside", 60, 70).launch(200).kernel("after", 210, 220);
  capture.on_thread(2, "b").range("other", 90, 110);
  const Timeline timeline = load(capture);
  REQUIRE(timeline.activities.size() == 2);
  CHECK(owner_of(timeline, ActivityIndex{0}) == "handed over");
  CHECK(owner_of(timeline, ActivityIndex{1}) == "outer");
}

TEST_CASE("an activity whose launch was not noted is joined to its call", "[importer]") {
  CaptureBuilder capture;
  capture.range("range", 0, 100);
  capture.correlation(77).call("cudaLaunchKernel", 10, 20).kernel("k", 30, 40);
  capture.correlation(99).kernel("of nothing", 50, 60);
  const Timeline timeline = load(capture);
  REQUIRE(timeline.activities.size() == 2);
  REQUIRE(timeline.activities.launch[0] != kNone);
  CHECK(timeline.launches.source[timeline.activities.launch[0]] == LaunchSource::kCall);
  CHECK(timeline.launches.time_ns[timeline.activities.launch[0]] == at(10));
  CHECK(timeline.activities.launch[1] == kNone);
}

TEST_CASE("what a reader should know is noted", "[importer]") {
  CaptureBuilder capture;
  capture.range("range", 0, 100).meta("device_state", "host_only: no driver").simulated().unfinished();
  capture.meta("cupti_notes", "graphs may belong to another launch than shown");
  capture.clock_point(1'000'000'000, 5'000'000'000, 10).clock_point(2'000'000'000, 5'000'000'000, 10);
  const Timeline timeline = load(capture);
  CHECK(has_note(timeline, "the program ended without stopping the session"));
  CHECK(has_note(timeline, "device activity was not recorded: host_only: no driver"));
  CHECK(has_note(timeline, "the system's clock was set during the recording"));
  CHECK(has_note(timeline, "graphs may belong to another launch than shown"));
  CHECK(timeline.simulated);
}

TEST_CASE("what came before the recording is no part of its time", "[importer]") {
  CaptureBuilder capture;  // a capture of a graph, which ranges are recorded for whenever it is
  capture.range("captured", -900, -700).payload(std::uint64_t{3}).mark("then", -800).counter("then", -800, 1.5);
  capture.memory(MemoryAction::kAllocate, -750, 0, {0x1000, 64});
  capture.range("across", -100, 10).range("at once", 0, 0).range("step", 20, 50).mark("now", 30).payload("text");
  const Timeline timeline = load(capture);
  std::map<std::string, bool> before;
  for (RangeIndex row{0}; row < timeline.ranges.size(); ++row)
    before[std::string(timeline.text(timeline.ranges.name[row]))] =
        (timeline.ranges.flags[row] & kBeforeRecording) != 0;
  CHECK(before ==
        std::map<std::string, bool>{{"captured", true}, {"across", false}, {"at once", false}, {"step", false}});
  CHECK(timeline.begin_ns == at(-100));
  CHECK(timeline.end_ns == at(50));
  CHECK(timeline.processes[0].start_ns == at(0));
  REQUIRE(timeline.marks.size() == 1);
  CHECK(timeline.marks.time_ns[0] == at(30));
  CHECK(timeline.counters.size() == 0);
  CHECK(timeline.allocator_events.size() == 0);
  REQUIRE(timeline.attachments.size() == 2);
  CHECK(timeline.attachments[1].target == Attachment::Target::kMark);
}

TEST_CASE("names and threads that a damaged file lost are told by their numbers", "[importer]") {
  CaptureBuilder capture;
  capture.range("range", 0, 100).kernel("k", 1, 2);
  capture.last_kernel().name = 4'000'000'000;
  Timeline timeline = load(capture);
  CHECK(timeline.text(timeline.activities.name[0]) == "<lost name #4000000000>");
  CHECK(timeline.health.lost_names == 1);
  CHECK_FALSE(timeline.health.complete());
}

TEST_CASE("times that cannot be are set aside and counted", "[importer]") {
  CaptureBuilder capture;
  capture.kernel("backwards", 100, 50).kernel("sound", 100, 150);
  const Timeline timeline = load(capture);
  CHECK(timeline.activities.size() == 1);
  CHECK(timeline.health.invalid_activities == 1);
}

TEST_CASE("incomplete input is an error where that was asked for", "[importer]") {
  const ScratchFolder folder(true);
  CaptureBuilder capture;
  capture.range("range", 0, 100).write(folder.file("whole.rfcap"));
  capture.health(1, 5).write(folder.file("dropped.rfcap"));
  LoadOptions strict;
  strict.strict = true;
  CHECK(load_timeline(folder.file("whole.rfcap"), strict).ok());
  CHECK(load_timeline(folder.file("dropped.rfcap"), strict).error().code() == ErrorCode::kIncomplete);
  LoadOptions small;
  small.max_unpacked_bytes = 16;
  CHECK(load_timeline(folder.file("whole.rfcap"), small).error().code() == ErrorCode::kUnreadable);
}

TEST_CASE("progress is told up to the end", "[importer]") {
  const ScratchFolder folder(true);
  CaptureBuilder capture;
  for (int i = 0; i < 100; ++i) capture.range("range", i * 10, i * 10 + 5);
  capture.chunk_rows(10).write(folder.file("a.rfcap"));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  LoadOptions options;
  options.progress_user = &seen;
  options.progress = [](void* user, std::uint64_t done, std::uint64_t total) {
    static_cast<std::vector<std::pair<std::uint64_t, std::uint64_t>>*>(user)->emplace_back(done, total);
  };
  REQUIRE(load_timeline(folder.file("a.rfcap"), options).ok());
  REQUIRE(seen.size() > 2);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.back().first == seen.back().second);
}

TEST_CASE("a folder of captures is a job of several processes", "[importer]") {
  const ScratchFolder folder(true);
  CaptureBuilder()
      .meta("host", "one")
      .meta("rank", "0")
      .range("a", 0, 10)
      .kernel("k", 1, 2)
      .write(folder.file("r0.rfcap"));
  CaptureBuilder()
      .meta("host", "one")
      .meta("rank", "1")
      .range("b", 5, 15)
      .kernel("k", 1, 2)
      .write(folder.file("r1.rfcap"));
  Result<Timeline> timeline = load_timeline(folder.path());
  REQUIRE(timeline.ok());
  REQUIRE(timeline->processes.size() == 2);
  CHECK(timeline->processes[1].rank == 1);
  REQUIRE(timeline->ranges.size() == 2);
  CHECK(timeline->ranges.begin_ns[1] == at(5));
  CHECK(timeline->threads[timeline->ranges.thread[1]].process == 1);
  CHECK(timeline->devices.size() == 2);  // each process has its own
  CHECK(timeline->sources.size() == 2);
  CHECK(timeline->notes.empty());

  CaptureBuilder().meta("host", "another").meta("rank", "2").range("c", 0, 10).write(folder.file("r2.rfcap"));
  timeline = load_timeline(folder.path());
  REQUIRE(timeline.ok());
  CHECK(has_note(*timeline, "host another (1 process): aligned by wall clock"));
  CHECK(timeline->ranges.begin_ns[2] == at(0));  // the wall clocks of these two agree
  CHECK_FALSE(load_timeline(folder.file("none")).ok());
}

TEST_CASE("the order of chunks does not change what is read", "[importer][property]") {
  std::mt19937_64 random(property_seed("shuffled chunks"));
  for (int round = 0; round < 100; ++round) {
    CaptureBuilder capture;
    capture.chunk_rows(1 + random() % 7);
    for (std::uint32_t thread = 1; thread <= 3; ++thread) {
      capture.on_thread(thread, "thread " + std::to_string(thread));
      std::int64_t time = static_cast<std::int64_t>(random() % 10);
      for (int i = 0; i < 20; ++i) {
        const auto length = static_cast<std::int64_t>(20 + random() % 50);
        switch (random() % 4) {
          case 0:
            capture.range("range " + std::to_string(random() % 3), time, time + length).payload(random());
            capture.facts(static_cast<std::int64_t>(random() % 9), 1, "[]\n[]\n[\"" + std::to_string(time) + "\"]");
            break;
          case 1:
            capture.start_end("start/end", time, time + length * 3);
            break;
          case 2:
            capture.range_ended_on(thread % 3 + 1,
                                   "elsewhere " + std::to_string(thread * 100 + static_cast<std::uint32_t>(i)), time,
                                   time + length);
            break;
          default:
            capture.range("outer", time, time + length).launch(time + 5).kernel("k", time + 100, time + 120);
        }
        time += length + 1 + static_cast<std::int64_t>(random() % 9);
      }
    }
    const auto rows = [](const Timeline& timeline) {
      std::vector<std::string> out;
      for (RangeIndex i{0}; i < timeline.ranges.size(); ++i) {
        const RangeTable& r = timeline.ranges;
        out.push_back(std::string(timeline.text(r.name[i])) + " " + std::to_string(r.begin_ns[i]) + " " +
                      std::to_string(r.end_ns[i]) + " " + std::to_string(r.flags[i]) + " " +
                      std::to_string(timeline.threads[r.thread[i]].tid) + " " +
                      std::to_string(timeline.threads[r.end_thread[i]].tid));
      }
      for (std::size_t i = 0; i < timeline.operators.size(); ++i) {
        const OperatorTable& o = timeline.operators;
        out.push_back(std::to_string(timeline.ranges.begin_ns[o.range[i]]) + " has " + std::to_string(o.sequence[i]) +
                      " and " + std::string(timeline.text(o.values[i])));
      }
      for (ActivityIndex i{0}; i < timeline.activities.size(); ++i)
        out.push_back(owner_of(timeline, i) + " owns what begins at " +
                      std::to_string(timeline.activities.begin_ns[i]));
      std::sort(out.begin(), out.end());
      return out;
    };
    LoadOptions options;
    options.operator_inputs = true;
    const std::vector<std::string> in_order = rows(load(capture, options));
    CHECK(rows(load(capture.shuffle(1 + random()), options)) == in_order);
  }
}

// ---- joining ---------------------------------------------------------------------------------------------------

TEST_CASE("launches are joined as the slow obvious way does", "[importer][property]") {
  std::mt19937_64 random(property_seed("join"));
  for (int round = 0; round < 400; ++round) {
    Timeline timeline;
    for (ProcessIndex process{0}; process < 2; ++process) {
      timeline.processes.emplace_back();
      timeline.threads.push_back({process, process, {}});
      DeviceInfo device;
      device.process = process;
      timeline.devices.push_back(device);
      timeline.streams.push_back({DeviceIndex(std::uint32_t{process}), 1, 7});
    }
    const auto number = [&](std::uint64_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    for (std::uint32_t n = number(12); n > 0; --n) {  // correlation ids come again
      const ThreadIndex thread(number(2));
      const std::int64_t begin_ns = number(100);
      timeline.calls.append({.thread = thread, .begin_ns = begin_ns, .end_ns = begin_ns + 5, .correlation = number(5)});
    }
    for (std::uint32_t n = number(8); n > 0; --n) {
      const std::uint32_t process = number(2);  // each has one thread, of its own number
      timeline.launches.append({.process = ProcessIndex(process),
                                .correlation = 1 + number(4),
                                .thread = ThreadIndex(process),
                                .time_ns = number(100),
                                .source = LaunchSource::kCallback});
    }
    const std::size_t noted = timeline.launches.size();
    for (std::uint32_t n = number(12); n > 0; --n) {
      timeline.activities.append(
          {.stream = StreamIndex(number(2)), .begin_ns = number(120), .end_ns = 200, .correlation = number(5)});
    }
    timeline::join_launches(timeline);

    // The last one at or before `time`, else the first one.
    const auto slow_find = [](std::size_t count, std::int64_t time, auto matches, auto time_of) {
      std::uint32_t best = kNone, first = kNone;
      for (std::uint32_t row = 0; row < count; ++row) {
        if (!matches(row)) continue;
        if (time_of(row) <= time && (best == kNone || time_of(row) >= time_of(best))) best = row;
        if (first == kNone || time_of(row) < time_of(first)) first = row;
      }
      return best != kNone ? best : first;
    };
    const auto& calls = timeline.calls;
    const auto& launches = timeline.launches;
    const auto find_call = [&](ProcessIndex process, std::uint64_t correlation, std::int64_t time) {
      return slow_find(
          calls.size(), time,
          [&](std::uint32_t r) {
            return correlation != 0 && timeline.threads[calls.thread[r]].process == process &&
                   calls.correlation[r] == correlation;
          },
          [&](std::uint32_t r) { return calls.begin_ns[r]; });
    };
    for (std::uint32_t row = 0; row < noted; ++row)
      CHECK(launches.call[row] == find_call(launches.process[row], launches.correlation[row], launches.time_ns[row]));
    for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
      const ProcessIndex process = timeline.devices[timeline.streams[timeline.activities.stream[row]].device].process;
      const std::uint64_t correlation = timeline.activities.correlation[row];
      const std::int64_t time = timeline.activities.begin_ns[row];
      const std::uint32_t launch = timeline.activities.launch[row];
      const std::uint32_t want = slow_find(
          noted, time,
          [&](std::uint32_t r) {
            return correlation != 0 && launches.process[r] == process && launches.correlation[r] == correlation;
          },
          [&](std::uint32_t r) { return launches.time_ns[r]; });
      if (want != kNone) {
        CHECK(launch == want);
        continue;
      }
      const std::uint32_t call = find_call(process, correlation, time);
      CHECK((launch == kNone) == (call == kNone));
      if (launch == kNone) continue;
      CHECK(launches.call[launch] == call);
      CHECK(launches.source[launch] == LaunchSource::kCall);
      CHECK(launches.time_ns[launch] == calls.begin_ns[call]);
    }
  }
}
