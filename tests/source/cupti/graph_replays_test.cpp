// SPDX-License-Identifier: MIT
#include "source/cupti/graph_replays.hpp"

#include "cupti_fixture.hpp"

#include <chrono>
#include <climits>
#include <thread>
#include <vector>

// Whether graphs are recorded node by node or as a whole. docs/reference/cupti.md, "Graphs as a whole".
namespace rangefinder::source::testing {
namespace {

using cupti::GraphReplays;

constexpr std::uint32_t kWhole = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;

FakeGraphExec* graph_of(int nodes) {
  FakeGraph* graph = fakecupti_graph_create();
  const FakeKernel k = kernel("k", 100);
  for (int node = 0; node < nodes; ++node) fakecupti_graph_add(graph, &k);
  return fakecupti_graph_instantiate(graph);
}

void launch_graph(FakeGraphExec* exec, int times = 1) {
  for (int i = 0; i < times; ++i) fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
  fakecupti_advance(1'000'000);
}

/// A switch is asked of the thread that calls CUPTI; the flush after it has waited for it.
void flush(CuptiRecording& recording) {
  recording.flush();
  recording.flush();
}

}  // namespace

TEST_CASE("launches are recorded as a whole where that is asked for", "[source]") {
  CuptiProcess process;
  process.options.graph_tracing = CuptiOptions::GraphTracing::kWhole;
  fakecupti_set_manual_clock(kNoon);
  CuptiRecording recording(process, false);
  CHECK(recording.fact("cupti_kinds").find("GRAPH_TRACE") != std::string::npos);
  recording.source.set_active(true);
  FakeGraphExec* exec = graph_of(3);
  const std::uint32_t correlation = fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 13);
  fakecupti_advance(1000);
  recording.source.set_active(false);
  launch_graph(exec);  // not recorded
  recording.stop();
  CHECK(recording.kernels.empty());
  REQUIRE(recording.graph_launches.size() == 1);
  const format::GraphLaunchRow& row = recording.graph_launches[0];
  CHECK(row.correlation == correlation);
  CHECK(row.begin_ns == static_cast<std::int64_t>(kNoon));
  CHECK(row.end_ns - row.begin_ns == 300);
  CHECK(row.stream == 13);
  CHECK(row.context == 1);
  CHECK(row.graph_id != 0);
  CHECK(recording.counts().empty());
  // The next recording is as it says itself.
  process.options.graph_tracing = CuptiOptions::GraphTracing::kNodes;
  CuptiRecording by_node(process, false);
  CHECK_FALSE(fakecupti_kind_enabled(kWhole));
  by_node.stop();
}

TEST_CASE("a launch as a whole that begins on the host is where it ends, or else where its stream is", "[source]") {
  CuptiProcess process;
  process.options.graph_tracing = CuptiOptions::GraphTracing::kWhole;
  fakecupti_set_manual_clock(kNoon);
  CuptiRecording recording(process);
  CUpti_ActivityGraphTrace2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  record.start = record.end = kNoon;
  record.correlationId = 7;
  record.streamId = 7;
  record.deviceId = record.contextId = INT_MAX;
  record.endDeviceId = record.endContextId = INT_MAX;
  std::uint32_t device = 0, context = 1;  // of its stream
  SECTION("and ends on a device") { record.endDeviceId = device = 3, record.endContextId = context = 9; }
  SECTION("and ends there") {}
  SECTION("and is not known") { record.streamId = 99; }
  fakecupti_append(&record, sizeof record);
  flush(recording);
  if (record.streamId == 99) {
    CHECK(recording.graph_launches.empty());
    CHECK(recording.counted(health::invalid_activities) == 1);
    return;
  }
  REQUIRE(recording.graph_launches.size() == 1);
  const format::GraphLaunchRow& row = recording.graph_launches[0];
  CHECK(row.device == device);
  CHECK(row.context == context);
  CHECK(row.end_device == device);
  CHECK(row.end_context == context);
}

TEST_CASE("a graph is recorded as a whole, then node by node so many times, then as a whole again", "[source]") {
  CuptiProcess process;
  process.options.graph_tracing = CuptiOptions::GraphTracing::kAutomatic;
  process.options.graph_node_replays = 3;
  fakecupti_set_manual_clock(kNoon);
  CuptiRecording recording(process);
  FakeGraphExec* first = graph_of(2);
  FakeGraphExec* second = graph_of(1);
  launch_graph(first);
  flush(recording);
  CHECK(fakecupti_kind_enabled(kWhole));  // it may be made for this launch alone
  launch_graph(first);
  flush(recording);
  CHECK_FALSE(fakecupti_kind_enabled(kWhole));
  launch_graph(first, 2);
  flush(recording);
  CHECK_FALSE(fakecupti_kind_enabled(kWhole));
  launch_graph(first);
  flush(recording);
  CHECK(fakecupti_kind_enabled(kWhole));
  launch_graph(first, 5);
  flush(recording);
  CHECK(recording.kernels.size() == 6);
  CHECK(recording.graph_launches.size() == 7);
  SECTION("another graph brings nodes back until it is known too") {
    launch_graph(second, 2);
    flush(recording);
    CHECK_FALSE(fakecupti_kind_enabled(kWhole));
    launch_graph(second, 3);
    launch_graph(first);
    flush(recording);
    CHECK(fakecupti_kind_enabled(kWhole));
    CHECK(recording.kernels.size() == 11);
    CHECK(recording.graph_launches.size() == 9);
  }
  SECTION("a pause does not forget") {
    recording.source.set_active(false);
    recording.source.set_active(true);
    launch_graph(first);
    flush(recording);
    CHECK(recording.graph_launches.size() == 8);
  }
  SECTION("a graph that is instantiated while nodes are recorded keeps them on for as long as it lives") {
    launch_graph(second, 2);
    flush(recording);
    REQUIRE_FALSE(fakecupti_kind_enabled(kWhole));
    FakeGraphExec* third = graph_of(1);
    for (int i = 0; i < 4; ++i) {
      launch_graph(second, 3);
      launch_graph(third, 3);
      flush(recording);
      CHECK_FALSE(fakecupti_kind_enabled(kWhole));
    }
    fakecupti_graph_destroy(nullptr, third);
    flush(recording);
    CHECK(fakecupti_kind_enabled(kWhole));
    launch_graph(second);
  }
  recording.stop();
  CHECK(recording.counts().empty());
}

// CUPTI 13.0.1 crashes at the launch of a graph that was instantiated while GRAPH_TRACE was off; so does the fake.
TEST_CASE("no launch is recorded as a whole where a graph may be launched that CUPTI crashes at", "[source][fault]") {
  CuptiProcess process;
  const bool automatic = GENERATE(true, false);
  CAPTURE(automatic);
  process.options.graph_tracing =
      automatic ? CuptiOptions::GraphTracing::kAutomatic : CuptiOptions::GraphTracing::kWhole;
  SECTION("it was instantiated between prepare and the recording") {
    CuptiOptions by_node;
    REQUIRE(cupti_prepare(process.seams(), by_node).working);
    FakeGraphExec* exec = graph_of(2);
    CuptiRecording recording(process);
    launch_graph(exec, 20);
    flush(recording);
    CHECK_FALSE(fakecupti_kind_enabled(kWhole));
    CHECK(recording.kernels.size() == 40);
    CHECK(recording.fact("cupti_notes").find("such graphs exist; set graph_tracing") != std::string::npos);
    fakecupti_graph_destroy(nullptr, exec);
    FakeGraphExec* other = graph_of(1);  // while nodes are still recorded
    flush(recording);
    CHECK_FALSE(fakecupti_kind_enabled(kWhole));
    launch_graph(other);
    fakecupti_graph_destroy(nullptr, other);
    flush(recording);
    CHECK(fakecupti_kind_enabled(kWhole));  // none is left
    launch_graph(graph_of(1));
    recording.stop();
    CHECK(recording.graph_launches.size() == 1);
    CHECK(recording.counts().empty());
  }
  SECTION("it was instantiated after a prepare that knew of it") {
    REQUIRE(cupti_prepare(process.seams(), process.options).working);
    FakeGraphExec* exec = graph_of(2);
    CuptiRecording recording(process);
    CHECK(fakecupti_kind_enabled(kWhole));
    launch_graph(exec);
    recording.stop();
    CHECK(recording.graph_launches.size() == 1);
    CHECK(recording.fact("cupti_notes").empty());
  }
  SECTION("CUPTI is given up after a prepare that knew of it") {
    REQUIRE(cupti_prepare(process.seams(), process.options).working);
    CHECK(fakecupti_kind_enabled(kWhole));
    CHECK(cupti_release(std::chrono::steady_clock::now() + std::chrono::seconds(5)).ok());
    CHECK_FALSE(fakecupti_kind_enabled(kWhole));
  }
  SECTION("CUDA was in use before") {
    CuptiSeams seams = process.seams();
    seams.load = [load = seams.load] {
      Result<CuptiApi> api = load ? load() : cupti::load_cupti();
      if (api) api->cuda_in_use = true;
      return api;
    };
    REQUIRE(cupti_prepare(seams, process.options).working);
    CHECK_FALSE(fakecupti_kind_enabled(kWhole));
    CuptiRecording recording(process);
    launch_graph(graph_of(2), 3);
    recording.stop();
    CHECK(recording.kernels.size() == 6);
    CHECK(recording.fact("cupti_notes").find("call rangefinder::prepare() first in main") != std::string::npos);
  }
  SECTION("it was instantiated in a pause") {
    process.options.idle = CuptiOptions::Idle::kDisable;
    CuptiRecording recording(process);
    recording.source.set_active(false);
    while (fakecupti_kind_enabled(kWhole)) std::this_thread::yield();  // it is asked of a thread of its own
    FakeGraphExec* exec = graph_of(2);
    recording.source.set_active(true);
    launch_graph(exec, 3);
    flush(recording);
    CHECK_FALSE(fakecupti_kind_enabled(kWhole));
    recording.stop();
    CHECK(recording.kernels.size() == 6);
  }
}

TEST_CASE("a CUPTI that cannot record launches as a whole goes on node by node", "[source][fault]") {
  CuptiProcess process;
  process.options.graph_tracing = CuptiOptions::GraphTracing::kWhole;
  fakecupti_fail_kind(kWhole, CUPTI_ERROR_NOT_SUPPORTED);
  CuptiRecording recording(process);
  launch_graph(graph_of(2));
  recording.stop();
  CHECK(recording.kernels.size() == 2);
  CHECK(recording.counted(health::cupti_errors) == 1);
  CHECK(recording.fact("cupti_notes").find("GRAPH_TRACE") != std::string::npos);
}

TEST_CASE("a graph that is not launched any more is not waited for", "[source]") {
  GraphReplays replays;
  replays.begin(3);
  for (const std::uint32_t launch : {10, 11}) replays.saw_operation(1, launch);
  for (const std::uint32_t launch : {12, 13, 14}) replays.saw_operation(2, launch);
  CHECK_FALSE(replays.decide());  // graph 1 was seen twice
  for (std::uint32_t flush = 2; flush < GraphReplays::kPatience; ++flush) {
    replays.saw_operation(2, 20 + flush);
    REQUIRE_FALSE(replays.decide());
  }
  CHECK_FALSE(replays.decide());
  CHECK(replays.decide());
  replays.saw_whole(1);
  CHECK(replays.decide());
  replays.saw_whole(1);  // there it is again
  CHECK_FALSE(replays.decide());
}

TEST_CASE("graphs that are made for one launch are not waited for", "[source]") {
  GraphReplays replays;
  replays.begin(2);
  for (std::uint32_t launch = 1; launch <= 2; ++launch) replays.saw_operation(1, launch);
  for (std::uint32_t graph = 2; graph < 1'000; ++graph) {
    graph % 2 == 0 ? replays.saw_operation(graph, 10 + graph) : replays.saw_whole(graph);
    REQUIRE(replays.decide());
    REQUIRE(replays.remembered() <= GraphReplays::kPatience + 2);
  }
}

TEST_CASE("operations of one launch count once, and no mode but automatic decides", "[source]") {
  GraphReplays replays;
  replays.begin(2);
  replays.saw_whole(1);
  for (int node = 0; node < 100; ++node) replays.saw_operation(1, 10);
  CHECK_FALSE(replays.decide());
  replays.saw_operation(1, 11);
  CHECK(replays.decide());
  replays.begin(0);
  replays.saw_operation(1, 10);
  replays.saw_operation(1, 11);
  CHECK_FALSE(replays.decide());
}

}  // namespace rangefinder::source::testing
