// SPDX-License-Identifier: MIT
#include "cupti_fixture.hpp"

#include <string>
#include <vector>

// What each CUPTI gives. docs/reference/cupti.md, "Versions".
namespace rangefinder::source::testing {
namespace {

struct Cupti {
  std::uint32_t version;
  const char* notes;
  bool filters_noise;   // single functions are left out
  bool names_jit;       // records of compiling name their thread
  bool matches_events;  // waits name the record of the event
};

constexpr const char* kNoUpdates =
    "this CUPTI has no callback RESOURCE_GRAPH_NODE_UPDATED: updates of single nodes are not known";
const std::string kOldest =
    "this CUPTI has no attribute PER_THREAD_ACTIVITY_BUFFER: threads share one buffer and wait for each other; " +
    std::string(kNoUpdates) + "; this CUPTI has no callback STATE_FATAL_ERROR: fatal errors inside CUPTI go unnoticed";

std::vector<Cupti> all() {
  return {{18, kOldest.c_str(), false, false, false},
          {22, kNoUpdates, false, true, false},
          {24, kNoUpdates, true, true, false},
          {26, kNoUpdates, true, true, true},
          {28, kNoUpdates, true, true, true},
          {130001, "", true, true, true},
          {130300, "", true, true, true}};  // newer than the headers
}

}  // namespace

TEST_CASE("every CUPTI records the same, and it is said what it lacks", "[source]") {
  const Cupti cupti = GENERATE(from_range(all()));
  CAPTURE(cupti.version);
  CuptiProcess process;
  fakecupti_become(cupti.version);
  fakecupti_set_manual_clock(kNoon);
  const bool whole = GENERATE(false, true);
  if (whole) process.options.graph_tracing = CuptiOptions::GraphTracing::kWhole;
  CuptiRecording recording(process);
  CHECK(fakecupti_api_enabled("cudaGetLastError_v3020") != cupti.filters_noise);

  FakeKernel k = kernel("k", 100);
  k.device = 3;
  k.context = 9;
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  FakeCopy copy;
  copy.bytes = 64;
  fakecupti_copy("cudaMemcpyAsync_v3020", &copy);
  copy.peer = true;
  copy.target_device = 1;
  fakecupti_copy("cudaMemcpyPeerAsync_v4000", &copy);
  FakeSet set;
  set.bytes = 32;
  fakecupti_set("cudaMemsetAsync_v3020", &set);
  fakecupti_synchronize("cudaStreamSynchronize_v3020", 1, 7);
  const std::uint64_t event = fakecupti_record_event("cudaEventRecord_v3020", 1, 7);
  fakecupti_wait_event("cudaStreamWaitEvent_v3020", 1, event);
  fakecupti_overhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, 77);
  fakecupti_jit(1, 1, 50, "/cache");
  FakeMemory memory;
  memory.bytes = 256;
  memory.async = true;
  memory.pool = 0xABC;
  fakecupti_memory("cudaMalloc_v3020", &memory);
  fakecupti_call("cudaGetLastError_v3020", 0);
  FakeGraph* graph = fakecupti_graph_create();
  fakecupti_graph_capture("cudaLaunchKernel_v7000", graph, &k);
  fakecupti_graph_capture("cudaLaunchKernel_v7000", graph, &k);
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
  fakecupti_advance(10'000);
  recording.flush();
  fakecupti_graph_destroy(graph, exec);
  recording.stop();

  CHECK(recording.counts().empty());  // no errors, nothing refused, cut or unknown
  CHECK(recording.fact("cupti_notes") == cupti.notes);
  CHECK(recording.kernels.size() == (whole ? 1u : 3u));
  for (const format::KernelRow& row : recording.kernels) {
    CHECK(recording.text(row.name) == "k");
    CHECK(row.end_ns - row.begin_ns == 100);
    CHECK(row.device == 3);
    CHECK(row.block_x == 128);
  }
  REQUIRE(recording.graph_launches.size() == (whole ? 1u : 0u));
  if (whole) {
    CHECK(recording.graph_launches[0].end_device == 3);
    CHECK(recording.graph_launches[0].end_context == 9);
  }
  CHECK(recording.graph_nodes.size() >= 4);  // two that were captured, two of the executable graph
  REQUIRE(recording.copies.size() == 2);
  CHECK(recording.copies[0].bytes == 64);
  CHECK(recording.copies[1].target_device == 1);
  REQUIRE(recording.sets.size() == 1);
  CHECK(recording.sets[0].bytes == 32);
  CHECK(recording.apis.size() == 11);  // not of the noisy one, whoever leaves it out
  REQUIRE(recording.syncs.size() == 2);
  CHECK(recording.syncs[1].event_stream == (cupti.matches_events ? 7u : 0u));
  REQUIRE(recording.overheads.size() == 1);
  CHECK(recording.overheads[0].end_ns - recording.overheads[0].begin_ns == 77);
  REQUIRE(recording.jits.size() == 1);
  CHECK((recording.jits[0].tid != 0) == cupti.names_jit);
  CHECK(recording.text(recording.jits[0].cache_path) == "/cache");
  REQUIRE(recording.allocations.size() == 1);
  CHECK(recording.allocations[0].pool == 0xABC);
  REQUIRE(recording.devices.size() == 1);
  CHECK(recording.text(recording.devices[0].name) == "Simulated GPU");
  CHECK(recording.contexts.size() == 1);
  CHECK(recording.contexts[0].null_stream == 7);
  CHECK(recording.streams.size() == 1);
}

// The double knows that it breaks the rules to refuse a buffer to a CUPTI before 12.9.
TEST_CASE("a CUPTI that would crash is never refused a buffer", "[source][fault]") {
  const Cupti cupti = GENERATE(from_range(all()));
  CAPTURE(cupti.version);
  CuptiProcess process;
  fakecupti_become(cupti.version);
  process.options.memory_bytes = 32 << 10;
  process.options.buffer_bytes = 4 << 10;
  CuptiRecording recording(process);
  fakecupti_set_delivery(kFakeHeld);  // none comes back
  const FakeKernel k = kernel("k");
  for (int i = 0; i < 1000; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.flush();
  fakecupti_set_delivery(kFakeInOrder);
  fakecupti_deliver();
  recording.stop();
  const bool refuses = cupti.version >= cupti::kRefusalIsSafe;
  CHECK((recording.counted(health::cupti_refused_buffers) != 0) == refuses);
  CHECK(recording.fact("cupti_emergency_buffers").empty() == refuses);
  CHECK((recording.kernels.size() < 1000) == refuses);
}

}  // namespace rangefinder::source::testing
