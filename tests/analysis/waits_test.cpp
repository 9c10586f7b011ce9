// SPDX-License-Identifier: MIT
#include "analysis/waits.hpp"

#include "support/catch.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <map>
#include <string>

using namespace rangefinder;
using namespace rangefinder::analysis;
using rangefinder::testing::change_last;
using rangefinder::testing::TimelineBuilder;

namespace {

constexpr StreamIndex kFirstStream{0};

/// A record of the last call's wait.
void record(TimelineBuilder& builder, std::uint32_t type, std::int64_t begin_ns, std::int64_t end_ns,
            StreamIndex stream = kNone, StreamIndex event_stream = kNone) {
  SyncTable& syncs = builder.timeline().syncs;
  syncs.append({.type = type,
                .stream = stream,
                .device = DeviceIndex{0},
                .begin_ns = begin_ns,
                .end_ns = end_ns,
                .correlation = builder.timeline().calls.correlation[builder.timeline().calls.size() - 1],
                .event_stream = event_stream});
}

}  // namespace

TEST_CASE("a wait has its reason, its thread, and the work that ended it", "[analysis]") {
  TimelineBuilder builder;
  builder.on_stream(7)
      .launch(5)
      .kernel(10, 60, "gemm")
      .launch(6)
      .kernel(70, 95, "relu")
      .launch(7)
      .kernel(96, 400, "late");
  builder.on_stream(8).launch(8).kernel(10, 99, "elsewhere");
  builder.on_thread(4).call("cudaStreamSynchronize_ptsz", 20, 100);
  record(builder, 3, 21, 98, kFirstStream);
  const auto waits = waits_of(builder.build());
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].reason == WaitReason::kStream);
  CHECK(waits[0].thread == 1);
  CHECK(waits[0].call == 0);
  CHECK(waits[0].stream == 0);
  CHECK(waits[0].length_ns() == 77);
  CHECK(waits[0].busy_ns == (60 - 21) + (95 - 70) + (98 - 96));
  CHECK(waits[0].last == 1);
}

TEST_CASE("waits for a device are for all its streams, and work of before does not count", "[analysis]") {
  TimelineBuilder builder;
  builder.on_stream(7).launch(1).kernel(2, 10, "before").on_stream(8).launch(3).kernel(15, 40, "last");
  builder.call("cudaDeviceSynchronize", 20, 50);
  record(builder, 4, 20, 50);
  builder.call("cuCtxSynchronize", 60, 70);
  record(builder, 4, 60, 70);
  const auto waits = waits_of(builder.build());
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].reason == WaitReason::kDevice);
  CHECK(waits[0].device == 0);
  CHECK(waits[0].busy_ns == 20);
  CHECK(waits[0].last == 1);
  CHECK(waits[1].reason == WaitReason::kContext);
  CHECK(waits[1].busy_ns == 0);
  CHECK(waits[1].last == kNone);
}

TEST_CASE("a wait for an event is for the stream that it was recorded on, where the input says", "[analysis]") {
  TimelineBuilder builder;
  builder.on_stream(7).launch(1).kernel(2, 30, "producer");
  builder.call("cudaEventSynchronize", 10, 35);
  record(builder, 1, 10, 34, kNone, kFirstStream);
  builder.call("cudaEventSynchronize", 40, 45);
  record(builder, 1, 40, 45);
  const auto waits = waits_of(builder.build());
  CHECK(waits[0].reason == WaitReason::kEvent);
  CHECK(waits[0].stream == 0);
  CHECK(waits[0].last == 0);
  CHECK(waits[1].stream == kNone);
  CHECK(waits[1].last == kNone);
}

TEST_CASE("streams that wait, and questions, do not hold the host up", "[analysis]") {
  TimelineBuilder builder;
  builder.on_stream(7).launch(1).kernel(2, 30, "k");
  builder.call("cudaStreamWaitEvent_v3020", 10, 12);
  record(builder, 2, 10, 12, kFirstStream, kFirstStream);
  builder.call("cudaEventQuery", 20, 22);
  record(builder, 1, 20, 22, kNone, kFirstStream);
  const auto waits = waits_of(builder.build());
  CHECK(waits[0].reason == WaitReason::kStreamForEvent);
  CHECK(waits[1].reason == WaitReason::kQuery);
  for (const Wait& wait : waits) {
    CHECK_FALSE(wait.blocks_host());
    CHECK(wait.busy_ns == 0);
  }
}

TEST_CASE("without records, calls that wait are known by name, the outermost alone", "[analysis]") {
  TimelineBuilder builder;
  builder.on_stream(7).launch(1).kernel(2, 30, "k");
  builder.call("cudaDeviceSynchronize", 10, 40).call("cuCtxSynchronize", 12, 39, CallDomain::kDriver);
  builder.call("hipStreamSynchronize", 50, 60).call("cudaMalloc", 61, 62).call("cudnnStreamSynchronize", 63, 64);
  const auto waits = waits_of(builder.build());
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].reason == WaitReason::kDevice);
  CHECK(waits[0].sync == kNone);
  CHECK(waits[0].length_ns() == 30);
  CHECK(waits[0].last == 0);
  CHECK(waits[1].reason == WaitReason::kStream);
  CHECK(waits[1].stream == kNone);
}

TEST_CASE("a recorded wait is one wait, whichever of nested calls has the record", "[analysis]") {
  TimelineBuilder builder;
  builder.call("cudaStreamSynchronize", 10, 40).call("cuStreamSynchronize", 12, 39, CallDomain::kDriver);
  record(builder, 3, 13, 38);
  const auto waits = waits_of(builder.build());
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].length_ns() == 25);
}

TEST_CASE("copies whose calls return when they are done are waits for them", "[analysis]") {
  TimelineBuilder builder;
  builder.on_stream(7).launch(1).kernel(2, 50, "gemm");
  builder.launch_call("cudaMemcpy_v3020", 10, 90).call("cuMemcpyDtoH_v2", 12, 89, CallDomain::kDriver);
  builder.memcpy(60, 85, 64, 2);
  builder.launch_call("cudaMemcpyAsync", 100, 110).memcpy(120, 130, 64, 2);  // returns at once
  builder.launch_call("cudaMemcpy", 140, 150).memcpy(160, 170, 64, 8);       // inside of the device
  builder.call("cuMemcpyDtoD_v2", 180, 190, CallDomain::kDriver);
  builder.call("cudaMemcpyPeer", 191, 192);
  builder.call("cudaMemcpyToSymbol", 200, 210);  // no copy in the data
  const auto waits = waits_of(builder.build());
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].reason == WaitReason::kCopy);
  CHECK(waits[0].begin_ns == 10);
  CHECK(waits[0].blocks_host());
  CHECK(waits[0].stream == 0);
  CHECK(waits[0].busy_ns == (50 - 10) + (85 - 60));
  CHECK(waits[0].last == 1);
  CHECK(waits[1].reason == WaitReason::kCopy);
  CHECK(waits[1].begin_ns == 200);
  CHECK(waits[1].stream == kNone);
}

TEST_CASE("a copy that CUDA recorded as a wait is one wait", "[analysis]") {
  TimelineBuilder builder;
  builder.call("cudaMemcpy", 10, 90);
  record(builder, 3, 20, 80, kNone);
  const auto waits = waits_of(builder.build());
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].reason == WaitReason::kStream);
}

TEST_CASE("memory that is given back waits for all work of the device", "[analysis]") {
  TimelineBuilder builder;
  builder.on_stream(7).launch(1).kernel(2, 50, "gemm").on_stream(8).launch(3).kernel(40, 70, "relu");
  builder.call("cudaFree_v3020", 10, 75).call("cuMemFree_v2", 11, 74, CallDomain::kDriver);
  builder.call("cudaFreeAsync", 80, 81).call("cudaFreeHost", 82, 83);
  const auto waits = waits_of(builder.build());
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].reason == WaitReason::kFree);
  CHECK(waits[0].device == 0);
  CHECK(waits[0].last == 1);
}

TEST_CASE("a record without its call is a wait of an unknown thread", "[analysis]") {
  TimelineBuilder builder;
  builder.call("cudaStreamSynchronize", 10, 40);
  record(builder, 3, 13, 38);
  change_last(builder.timeline().syncs, [&](auto& changed) { changed.correlation = 777; });
  builder.timeline().calls = {};
  const auto waits = waits_of(builder.build());
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].thread == kNone);
  CHECK(waits[0].reason == WaitReason::kStream);
}

TEST_CASE("synchronisations of a real trace have reason, thread and stream", "[analysis][data]") {
  const auto path = rangefinder::testing::shared_file("data/kineto/event_sync_a100.json.gz");
  if (path.empty()) RANGEFINDER_SKIP("no traces at hand");
  const auto timeline = load_timeline(path);
  REQUIRE(timeline);
  std::map<WaitReason, int> count;
  for (const Wait& wait : waits_of(*timeline)) {
    ++count[wait.reason];
    CHECK(timeline->threads[wait.thread].tid == 948300);
    if (wait.reason == WaitReason::kStream || wait.reason == WaitReason::kEvent)
      CHECK(timeline->streams[wait.stream].id == 7);
  }
  CHECK(count[WaitReason::kStream] == 1);
  CHECK(count[WaitReason::kEvent] == 1);
  CHECK(count[WaitReason::kQuery] == 1);
  CHECK(count[WaitReason::kDevice] == 1);
}
