// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/analysis/critical_path.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::change_last;
using rangefinder::testing::TimelineBuilder;

namespace {

/// "host 0-10 [fwd/aten::mm], launch latency 10-14, kernel a 14-30": a line a segment, with what was open on the host.
std::string text_of(const Timeline& timeline, const std::vector<CriticalSegment>& path) {
  std::string text;
  for (const CriticalSegment& segment : path) {
    text += std::string(to_string(segment.reason)) + " " + std::to_string(segment.begin_ns) + "-" +
            std::to_string(segment.end_ns);
    const bool device = segment.activity != kNone;
    if (device) text += " " + std::string(timeline.text(timeline.activities.name[segment.activity]));
    if (!device && segment.call != kNone) text += " " + std::string(timeline.text(timeline.calls.name[segment.call]));
    if (!device && segment.thread != 0 && segment.thread != kNone)
      text += " on thread " + std::to_string(segment.thread);
    if (segment.range != kNone) text += " [" + std::string(timeline.text(timeline.ranges.name[segment.range])) + "]";
    text += "\n";
  }
  return text;
}

std::string whole_path(const Timeline& timeline) {
  const CriticalPathGraph graph(timeline);
  return text_of(timeline, graph.paths({graph.whole()}).front());
}

std::int64_t whole_time(const Timeline& timeline, const CriticalScale& scale) {
  const CriticalPathGraph graph(timeline);
  return graph.times({graph.whole()}, scale).front();
}

/// A synchronisation record of the last call.
void add_sync(TimelineBuilder& builder, std::uint32_t type, StreamIndex stream, StreamIndex event_stream = kNone) {
  const CallTable& calls = builder.timeline().calls;
  const CallIndex call(calls.size() - 1);
  builder.timeline().syncs.append({.type = type,
                                   .stream = stream,
                                   .device = DeviceIndex(0),
                                   .begin_ns = calls.begin_ns[call],
                                   .end_ns = calls.end_ns[call],
                                   .correlation = calls.correlation[call],
                                   .event_stream = event_stream});
}

CriticalScale without(CriticalReason reason) {
  return [reason](const CriticalSegment& segment) { return !segment.is_wait && segment.reason == reason ? 0.0 : 1.0; };
}

}  // namespace

TEST_CASE("a host that waits for its kernel has the kernel on its critical path", "[critical_path]") {
  TimelineBuilder builder;
  builder.range("forward", 0, 100).launch_call("cudaLaunchKernel", 10, 15).kernel(14, 80, "gemm");
  builder.call("cudaDeviceSynchronize", 20, 85);
  add_sync(builder, 4, kNone);
  const Timeline timeline = builder.build();
  CHECK(whole_path(timeline) ==
        "host 0-10 [forward]\n"
        "launch latency 10-14 gemm [forward]\n"
        "computation 14-80 gemm [forward]\n"
        "synchronisation 80-85 cudaDeviceSynchronize [forward]\n"
        "host 85-100 [forward]\n");
  // The kernel free: the synchronisation begins at 20 and returns after 5.
  CHECK(whole_time(timeline, without(CriticalReason::kComputation)) == 40);
  CHECK(whole_time(timeline, without(CriticalReason::kHost)) == 4 + 66 + 5);
}

TEST_CASE("a wait that takes no time lets the host go on at once", "[critical_path]") {
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchKernel", 0, 5).kernel(10, 80);
  builder.call("cudaStreamSynchronize", 20, 85).range("next", 85, 105);
  add_sync(builder, 3, StreamIndex(0));
  const Timeline timeline = builder.build();
  const auto no_wait = [](const CriticalSegment& segment) { return segment.is_wait ? 0.0 : 1.0; };
  CHECK(whole_time(timeline, {}) == 105);
  CHECK(whole_time(timeline, no_wait) == 80);  // the kernel is last
  const auto half_as_long = [](const CriticalSegment& segment) { return segment.is_wait ? 0.5 : 1.0; };
  CHECK(whole_time(timeline, half_as_long) == 80);  // the host is done at 20 + 30 + 5 + 20 = 75
}

TEST_CASE("work that was hidden becomes critical in a what-if", "[critical_path]") {
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchKernel", 0, 2).on_stream(1).kernel(3, 103, "long");
  builder.launch_call("cudaLaunchKernel", 4, 6).on_stream(2).kernel(7, 97, "almost as long");
  builder.call("cudaDeviceSynchronize", 8, 105);
  add_sync(builder, 4, kNone);
  const Timeline timeline = builder.build();
  const CriticalPathGraph graph(timeline);
  const auto first_free = [](const CriticalSegment& segment) {
    return segment.activity == 0 && segment.reason == CriticalReason::kComputation ? 0.0 : 1.0;
  };
  CHECK(graph.times({graph.whole()}, first_free).front() == 99);
  const auto then = graph.paths({graph.whole()}, first_free).front();
  CHECK(text_of(timeline, then).find("computation 7-97 almost as long") != std::string::npos);
}

TEST_CASE("a stream that waits for an event begins after the other stream's work", "[critical_path]") {
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchKernel", 0, 2).on_stream(1).kernel(4, 60, "producer");
  builder.call("cudaStreamWaitEvent", 10, 12);
  SECTION("which a record tells") { add_sync(builder, 2, StreamIndex(2), StreamIndex(1)); }
  SECTION("which the call alone tells") {}
  builder.launch_call("cudaLaunchKernel", 20, 22).on_stream(2).kernel(61, 90, "consumer");
  const Timeline timeline = builder.build();
  REQUIRE(timeline.streams[2].id == 2);
  CHECK(whole_path(timeline) ==
        "launch latency 0-4 producer\n"
        "computation 4-60 producer\n"
        "stream delay 60-61 consumer\n"
        "computation 61-90 consumer\n");
}

TEST_CASE("nodes of a CUDA graph begin after its launch and end before what follows", "[critical_path]") {
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchKernel", 0, 2).on_stream(1).kernel(4, 20, "before");
  builder.launch_call("cudaGraphLaunch", 5, 8).on_stream(1).kernel(21, 30, "node 1").of_graph(kNone, 1);
  builder.on_stream(2).kernel(31, 70, "node 2").of_graph(kNone, 2);
  builder.on_stream(1).kernel(31, 40, "node 3").of_graph(kNone, 3);
  builder.launch_call("cudaLaunchKernel", 10, 12).on_stream(1).kernel(71, 80, "after");
  const Timeline timeline = builder.build();
  CHECK(whole_path(timeline) ==
        "launch latency 0-4 before\n"
        "computation 4-20 before\n"
        "stream delay 20-21 node 1\n"
        "computation 21-30 node 1\n"
        "stream delay 30-31 node 2\n"
        "computation 31-70 node 2\n"
        "stream delay 70-71 after\n"
        "computation 71-80 after\n");
  const auto branch_free = [](const CriticalSegment& segment) {
    return segment.activity == 2 && segment.reason == CriticalReason::kComputation ? 0.0 : 1.0;
  };
  CHECK(whole_time(timeline, branch_free) == 80 - 30);  // node 3 is the last of the graph then
}

TEST_CASE("a backward pass goes through the thread of the autograd engine", "[critical_path]") {
  TimelineBuilder builder;
  builder.range("forward", 0, 20).range("backward", 25, 90);
  builder.on_thread(2).engine();
  builder.range("MmBackward", 30, 50).of_kind(RangeKind::kOperator).node(30, 50, 1, 1, 10);
  builder.range("AddBackward", 52, 80).of_kind(RangeKind::kOperator).gradient_accumulation(52, 80);
  builder.on_thread(1).range("optimizer", 95, 100);
  builder.step(0, 0, 100);
  const Timeline timeline = builder.build();
  CHECK(whole_path(timeline) ==
        "host 0-20 [forward]\n"
        "host 20-25\n"
        "host 25-30 [backward]\n"
        "host 30-50 on thread 1\n"
        "host 50-52 on thread 1\n"
        "host 52-80 on thread 1\n"
        "host 80-90 [backward]\n"
        "host 90-95\n"
        "host 95-100 [optimizer]\n");
  const auto nodes_free = [](const CriticalSegment& segment) { return segment.op != kNone ? 0.0 : 1.0; };
  CHECK(whole_time(timeline, nodes_free) == 100 - 48);
  const auto forward_free = [](const CriticalSegment& segment) { return segment.begin_ns < 20 ? 0.0 : 1.0; };
  CHECK(whole_time(timeline, forward_free) == 80);
}

TEST_CASE("a forward thread that goes on is not waited for by the engine's thread", "[critical_path]") {
  TimelineBuilder builder;
  builder.range("forward", 0, 100).range("inside", 40, 45);
  builder.on_thread(2).engine().range("node", 30, 50).of_kind(RangeKind::kOperator).node(30, 50, 1, 1, 10);
  builder.on_thread(1).step(0, 0, 100);
  const Timeline timeline = builder.build();
  CHECK(whole_time(timeline, [](const CriticalSegment& segment) { return segment.op != kNone ? 0.0 : 1.0; }) == 100);
}

TEST_CASE("a long gap whose cause is not in the data is unknown", "[critical_path]") {
  TimelineBuilder builder;
  builder.launch_call("cudaGraphLaunch", 0, 5'000).kernel(10'000, 20'000, "first");
  builder.kernel(5'020'000, 5'030'000, "later");
  const Timeline timeline = builder.build();
  CHECK(whole_path(timeline) ==
        "launch latency 0-10000 first\n"
        "computation 10000-20000 first\n"
        "unknown 20000-5020000 later\n"
        "computation 5020000-5030000 later\n");
}

TEST_CASE("work without a launch follows its stream", "[critical_path]") {
  TimelineBuilder builder;
  builder.without_launch(77).kernel(0, 10, "first").kernel(12, 20, "second");
  const Timeline timeline = builder.build();
  CHECK(whole_path(timeline) ==
        "computation 0-10 first\n"
        "stream delay 10-12 second\n"
        "computation 12-20 second\n");
}

TEST_CASE("a copy to pageable memory holds its call until it is done", "[critical_path]") {
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchKernel", 0, 4).kernel(5, 50, "gemm");
  builder.launch_call("cudaMemcpyAsync", 10, 65).memcpy(51, 60, 4, 2);
  builder.timeline().copy_details.back().target_memory = 1;
  builder.range("after", 65, 70);
  const Timeline timeline = builder.build();
  CHECK(whole_path(timeline) ==
        "launch latency 0-5 gemm\n"
        "computation 5-50 gemm\n"
        "stream delay 50-51 memcpy\n"
        "copy 51-60 memcpy\n"
        "synchronisation 60-65 cudaMemcpyAsync\n"
        "host 65-70 [after]\n");
}

TEST_CASE("a call that prepares its copy for long is what took the time", "[critical_path]") {
  TimelineBuilder builder;
  builder.launch_call("cudaMemcpyAsync", 0, 400'000).memcpy(300'000, 350'000, 4, 1);
  builder.timeline().copy_details.back().source_memory = 1;
  CHECK(whole_path(builder.build()) ==
        "CUDA call 0-300000 memcpy\n"
        "copy 300000-350000 memcpy\n"
        "synchronisation 350000-400000 cudaMemcpyAsync\n");
}

TEST_CASE("input has its own reason", "[critical_path]") {
  TimelineBuilder builder;
  builder.range("dataloader", 0, 50).range("forward", 50, 60).launch_call("cudaMalloc", 60, 65);
  CHECK(whole_path(builder.build()) ==
        "input 0-50 [dataloader]\n"
        "host 50-60 [forward]\n"
        "CUDA call 60-65 cudaMalloc\n");
}

TEST_CASE("a step ends when its work is done, and the next begins there", "[critical_path]") {
  TimelineBuilder builder;
  builder.range("a", 0, 10).launch_call("cudaLaunchKernel", 2, 4).kernel(5, 30, "a").step(0, 0, 10);
  builder.range("b", 10, 20).launch_call("cudaLaunchKernel", 12, 14).kernel(30, 70, "b").step(1, 10, 20);
  const Timeline timeline = builder.build();
  const CriticalPathGraph graph(timeline);
  const std::vector<CriticalWindow> steps = graph.steps();
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].length_ns() == 30);
  CHECK(steps[1].length_ns() == 40);
  CHECK(steps[1].step == 1);
  CHECK(text_of(timeline, graph.paths(steps)[1]) == "computation 30-70 b [b]\n");
  const auto twice_as_fast = [](const CriticalSegment& segment) {
    return segment.reason == CriticalReason::kComputation ? 0.5 : 1.0;
  };
  // The first ends at 5 + 12.5, rounded; the second kernel is behind it by then.
  CHECK(graph.times(steps, twice_as_fast) == std::vector<std::int64_t>{18, 20});
}

TEST_CASE("a window of time is cut out of what ran", "[critical_path]") {
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchKernel", 0, 4).kernel(5, 105, "long");
  const Timeline timeline = builder.build();
  const CriticalPathGraph graph(timeline);
  const CriticalWindow window = graph.between(20, 60);
  CHECK(window.begin_ns == 20);
  CHECK(window.end_ns == 60);
  CHECK(text_of(timeline, graph.paths({window}).front()) == "computation 20-60 long\n");
}

TEST_CASE("kernels of a collective wait for the last rank", "[critical_path]") {
  TimelineBuilder builder;
  Timeline& timeline = builder.timeline();
  timeline.process_groups.push_back({.name = "0", .ranks = {0, 1}, .size = 2});
  const auto rank = [&](std::int64_t pid, std::int64_t late_ns) {
    builder.on_process(pid);
    builder.range("forward", 0, late_ns).launch_call("cudaLaunchKernel", late_ns, late_ns + 2);
    const ThreadIndex thread(timeline.threads.size() - 1);
    builder.kernel(late_ns + 4, 100, "ncclDevKernel_AllReduce");
    timeline.processes.back().rank = static_cast<std::int32_t>(pid - 1);
    timeline.collectives.append({.kind = CollectiveKind::kAllReduce,
                                 .process = ProcessIndex(timeline.processes.size() - 1),
                                 .group = ProcessGroupIndex(0),
                                 .number = 0,
                                 .elements_in = 8,
                                 .thread = thread,
                                 .begin_ns = late_ns,
                                 .end_ns = late_ns + 2});
    change_last(timeline.activities,
                [&](ActivityRow& row) { row.collective = CollectiveIndex(timeline.collectives.size() - 1); });
  };
  rank(1, 10);
  rank(2, 70);
  const Timeline job = builder.build();
  CHECK(whole_path(job) ==
        "host 0-70 on thread 1 [forward]\n"
        "launch latency 70-74 ncclDevKernel_AllReduce\n"
        "communication 74-100 ncclDevKernel_AllReduce\n");
  const auto second_faster = [](const CriticalSegment& segment) {
    return segment.thread == 1 && segment.activity == kNone ? 0.5 : 1.0;
  };
  CHECK(whole_time(job, second_faster) == 65);
}

TEST_CASE("a host that waits for Gloo waits for the last rank", "[critical_path]") {
  TimelineBuilder builder;
  Timeline& timeline = builder.timeline();
  timeline.process_groups.push_back({.name = "0", .ranks = {0, 1}, .size = 2});
  const auto rank = [&](std::int64_t pid, std::int64_t called_ns) {
    builder.on_process(pid).range("forward", 0, called_ns);
    const ThreadIndex thread(timeline.threads.size() - 1);
    timeline.processes.back().rank = static_cast<std::int32_t>(pid - 1);
    timeline.collectives.append({.kind = CollectiveKind::kAllReduce,
                                 .process = ProcessIndex(timeline.processes.size() - 1),
                                 .group = ProcessGroupIndex(0),
                                 .number = 0,
                                 .elements_in = 8,
                                 .thread = thread,
                                 .begin_ns = called_ns,
                                 .end_ns = called_ns + 2,
                                 .started_ns = called_ns + 1,
                                 .completed_ns = 95,
                                 .wait_thread = thread,
                                 .wait_begin_ns = called_ns + 5,
                                 .wait_end_ns = 100});
    builder.range("optimizer", 100, 110);
  };
  rank(1, 10);
  rank(2, 70);
  const Timeline job = builder.build();
  CHECK(whole_path(job) ==
        "host 0-70 on thread 1 [forward]\n"
        "communication 70-95\n"
        "synchronisation 95-100\n"
        "host 100-110 [optimizer]\n");
  const auto second_faster = [](const CriticalSegment& segment) {
    return segment.thread == 1 && segment.begin_ns == 0 ? 0.5 : 1.0;
  };
  CHECK(whole_time(job, second_faster) == 75);
}

TEST_CASE("times at the ends of what a file can say are worked with", "[critical_path]") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min() + 1;
  TimelineBuilder builder;
  builder.range("all", kLeast, kMost).launch_call("cudaLaunchKernel", kLeast, kMost).kernel(kLeast, kMost);
  builder.launch_call("cudaMemcpyAsync", 5, 3).memcpy(9, 2, 4).kernel(0, 0).kernel(0, 0);
  builder.call("cudaDeviceSynchronize", kMost, kLeast).call("cudaDeviceSynchronize", kLeast, kMost);
  builder.step(1, kLeast, kMost).step(2, kMost, kLeast);
  const Timeline timeline = builder.build();
  const CriticalPathGraph graph(timeline);
  std::vector<CriticalWindow> windows = graph.steps();
  windows.push_back(graph.whole());
  windows.push_back(graph.between(kMost, kLeast));
  for (const double by : {0.0, 1.0, 1e300, -1.0})
    CHECK(graph.times(windows, [by](const CriticalSegment&) { return by; }).size() == windows.size());
  CHECK(graph.paths(windows).size() == windows.size());
}

TEST_CASE("an empty timeline has an empty path", "[critical_path]") {
  const Timeline timeline;
  const CriticalPathGraph graph(timeline);
  CHECK(graph.whole().length_ns() == 0);
  CHECK(graph.steps().empty());
  CHECK(graph.runs_of("nothing").empty());
  CHECK(graph.paths({graph.whole(), graph.between(0, 10)}).front().empty());
}
