// SPDX-License-Identifier: MIT
#include "source/cupti/cupti_source.hpp"

#include "cupti_fixture.hpp"

#include <algorithm>

// A training step as the simulated device plays it, seen from the outside.
namespace rangefinder::source::testing {

TEST_CASE("a training step is recorded as it was played", "[source]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  process.options.buffer_bytes = 8192;
  fakecupti_set_manual_clock(kNoon);
  fakecupti_set_launch_latency(4'000);
  CuptiRecording recording(process);
  constexpr int kLayers = 12;
  for (int step = 0; step < 3; ++step) {
    FakeCopy input;
    input.bytes = 1 << 20;
    input.duration_ns = 50'000;
    fakecupti_copy("cudaMemcpyAsync_v3020", &input);
    for (int layer = 0; layer < kLayers; ++layer) {
      const FakeKernel gemm = kernel("gemm", 200'000), norm = kernel("layer_norm", 20'000);
      fakecupti_launch("cudaLaunchKernelExC_v11060", &gemm);
      fakecupti_launch("cudaLaunchKernel_v7000", &norm);
      fakecupti_advance(5'000);
    }
    std::thread([] {  // the autograd engine has a thread of its own
      for (int layer = 0; layer < kLayers; ++layer) {
        const FakeKernel gradient = kernel("gemm_backward", 400'000);
        fakecupti_launch("cudaLaunchKernel_v7000", &gradient);
      }
    })
        .join();
    FakeSet zero;
    zero.bytes = 4 << 20;
    zero.duration_ns = 10'000;
    fakecupti_set("cudaMemsetAsync_v3020", &zero);
    fakecupti_synchronize("cudaDeviceSynchronize_v3020", 1, 0xFFFFFFFFu);
    recording.flush();
  }
  recording.stop();
  CHECK(recording.kernels.size() == 3 * 3 * kLayers);
  CHECK(recording.copies.size() == 3);
  CHECK(recording.sets.size() == 3);
  CHECK(recording.syncs.size() == 3);
  CHECK(recording.apis.size() == 3 * (3 * kLayers + 3));
  CHECK(NotedLaunches::take().size() == 3 * (3 * kLayers + 2));
  CHECK(recording.counts().empty());
  // One stream: nothing overlaps, and each begins after its call.
  std::vector<std::pair<std::int64_t, std::int64_t>> busy;
  for (const auto& row : recording.kernels) busy.emplace_back(row.begin_ns, row.end_ns);
  for (const auto& row : recording.copies) busy.emplace_back(row.begin_ns, row.end_ns);
  for (const auto& row : recording.sets) busy.emplace_back(row.begin_ns, row.end_ns);
  std::sort(busy.begin(), busy.end());
  for (std::size_t i = 1; i < busy.size(); ++i) REQUIRE(busy[i - 1].second <= busy[i].first);
  for (const auto& row : recording.kernels) {
    const format::ApiRow* call = find_api(recording, row.correlation);
    REQUIRE(call != nullptr);
    REQUIRE(row.begin_ns >= call->begin_ns + 4'000);
  }
  std::int64_t total = 0;
  for (const auto& [begin, end] : busy) total += end - begin;
  CHECK(total == 3 * (50'000 + kLayers * (200'000 + 20'000 + 400'000) + 10'000));
}

TEST_CASE("start and stop may be called in any order and any number of times", "[source]") {
  CuptiProcess process;
  KeepingSink sink;
  CuptiSource source = process.source();
  source.set_active(true);
  source.flush(soon());
  source.stop(soon());
  REQUIRE(source.start(sink).working);
  CHECK_FALSE(source.start(sink).working);  // it runs
  source.set_active(true);
  source.set_active(true);
  source.stop(soon());
  source.stop(soon());
  source.set_active(false);
  REQUIRE(source.start(sink).working);
  source.stop(soon());
  CHECK(sink.counts().empty());
}

TEST_CASE("threads that flush, pause and stop at once do not disturb each other", "[source]") {
  for (int round = 0; round < 20; ++round) {
    CuptiProcess process;
    process.options.flush_period = 1ms;
    process.options.idle = round % 2 == 0 ? CuptiOptions::Idle::kDisable : CuptiOptions::Idle::kGate;
    CuptiRecording recording(process);
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      const FakeKernel k = kernel("k");
      for (int i = 0; i < 300; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &k);
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) recording.flush();
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) recording.source.set_active(i % 2 == 0);
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) (void)recording.source.state();
      recording.stop();
    });
    threads.emplace_back([&] { recording.stop(); });
    for (std::thread& thread : threads) thread.join();
    CHECK(recording.kernels.size() <= 300);
    CHECK(recording.counted(health::cupti_errors) == 0);
  }
}

}  // namespace rangefinder::source::testing
