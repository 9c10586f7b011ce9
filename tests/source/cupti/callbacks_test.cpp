// SPDX-License-Identifier: MIT
#include "source/cupti/callbacks.hpp"

#include "buffer/thread_log.hpp"
#include "cupti_fixture.hpp"

#include <algorithm>
#include <atomic>

namespace rangefinder::source::testing {
namespace {

std::vector<std::uint32_t> correlations(const std::vector<NotedLaunch>& launches) {
  std::vector<std::uint32_t> ids;
  for (const NotedLaunch& launch : launches) ids.push_back(launch.correlation);
  return ids;
}

/// Runs `program` while launches are noted.
template <typename Program>
std::vector<NotedLaunch> noted(CuptiProcess& process, Program program) {
  CuptiRecording recording(process);
  program();
  recording.stop();
  return NotedLaunches::take();
}

}  // namespace

TEST_CASE("every launch is noted once, by the thread that makes it, with its function", "[source]") {
  CuptiProcess process;
  std::uint32_t runtime = 0, driver = 0, copy = 0, threaded = 0, other_tid = 0;
  const auto launches = noted(process, [&] {
    const FakeKernel k = kernel("k");
    runtime = fakecupti_launch("cudaLaunchKernel_v7000", &k);
    driver = fakecupti_launch("cuLaunchKernelEx", &k);
    const FakeCopy c;
    copy = fakecupti_copy("cudaMemcpyAsync_v3020", &c);
    fakecupti_call("cudaMalloc_v3020", 0);  // no launch
    fakecupti_synchronize("cudaDeviceSynchronize_v3020", 1, 0xFFFFFFFFu);
    std::thread([&] {
      other_tid = NotedLaunches::tid_of_caller();
      threaded = fakecupti_launch("cudaLaunchKernel_v7000", &k);
    }).join();
  });
  REQUIRE(correlations(launches) == std::vector{runtime, driver, copy, threaded});
  CHECK(launches[0].callback == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  CHECK(launches[1].callback == (CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx | buffer::kDriverCallback));
  CHECK(launches[2].callback == CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
  CHECK(launches[0].tid == NotedLaunches::tid_of_caller());
  CHECK(launches[3].tid == other_tid);
}

TEST_CASE("a runtime call that reaches the driver is noted at its outermost call, and under the inner id too",
          "[source]") {
  CuptiProcess process;
  std::uint32_t outer = 0;
  bool of_inner = GENERATE(true, false);
  const auto launches = noted(process, [&] {
    const FakeKernel k = kernel("k");
    outer = fakecupti_launch_nested("cudaLaunchKernel_v7000", "cuLaunchKernel", of_inner, &k);
  });
  CHECK(correlations(launches) == std::vector{outer, outer + 1});
}

TEST_CASE("a nested call with the same id is noted once", "[source]") {
  CuptiProcess process;
  const auto launches = noted(process, [] {
    CUpti_CallbackData data{};
    data.correlationId = 500;
    data.callbackSite = CUPTI_API_ENTER;
    cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &data);
    cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    data.callbackSite = CUPTI_API_EXIT;
    cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &data);
    // And the next outermost call is one again, also after an exit too many.
    cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &data);
    data.correlationId = 501;
    data.callbackSite = CUPTI_API_ENTER;
    cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &data);
  });
  CHECK(correlations(launches) == std::vector{500u, 501u});
}

TEST_CASE("a call that was open when the noting changed does not hide later ones", "[source][fault]") {
  CuptiProcess process;
  CuptiRecording recording(process);
  enter_launch(7);
  recording.source.set_active(false);  // its exit is never seen
  recording.source.set_active(true);
  enter_launch(7);
  CHECK(correlations(NotedLaunches::take()) == std::vector{7u, 7u});
  recording.stop();
}

TEST_CASE("nothing is noted before the recording is active, in a pause, or after it", "[source]") {
  CuptiProcess process;
  const FakeKernel k = kernel("k");
  CuptiRecording recording(process, false);
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  CHECK(NotedLaunches::take().empty());
  recording.source.set_active(true);
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  CHECK(NotedLaunches::take().size() == 1);
  recording.source.set_active(false);
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  CHECK(NotedLaunches::take().empty());
  recording.stop();
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  CHECK(NotedLaunches::take().empty());
}

TEST_CASE("correlation ids are noted across their wrap", "[source]") {
  CuptiProcess process;
  fakecupti_set_next_correlation(0xFFFFFFFEu);
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  for (int i = 0; i < 4; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &k);
  fakecupti_synchronize("cudaStreamSynchronize_v3020", 1, 7);
  recording.stop();
  CHECK(correlations(NotedLaunches::take()) == std::vector{0xFFFFFFFEu, 0xFFFFFFFFu, 0u, 1u});
  CHECK(recording.kernels.size() == 4);
  CHECK(static_cast<std::uint32_t>(callback_state().newest_correlation) == 1);
}

TEST_CASE("launches by many threads are all noted, and their API records agree", "[source]") {
  CuptiProcess process;
  process.options.memory_bytes = 16 << 20;
  CuptiRecording recording(process);
  std::atomic<bool> done{false};
  std::thread flusher([&] {
    while (!done) recording.flush();
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([] {
      const FakeKernel k = kernel("k", 0);
      for (int i = 0; i < 500; ++i) fakecupti_launch(i % 2 == 0 ? "cudaLaunchKernel_v7000" : "cuLaunchKernel", &k);
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  flusher.join();
  fakecupti_synchronize("cudaDeviceSynchronize_v3020", 1, 0xFFFFFFFFu);
  recording.stop();
  const auto launches = NotedLaunches::take();
  REQUIRE(launches.size() == 4000);
  CHECK(recording.kernels.size() == 4000);
  std::map<std::uint32_t, std::uint32_t> tids;
  for (const format::ApiRow& row : recording.apis) tids[row.correlation] = row.tid;
  for (const NotedLaunch& launch : launches) REQUIRE(tids.at(launch.correlation) == launch.tid);
  CHECK(recording.counts().empty());
}

TEST_CASE("a launch whose API record names another thread is counted", "[source][fault]") {
  CuptiProcess process;
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  const std::uint32_t correlation = fakecupti_launch("cudaLaunchKernel_v7000", &k);
  CUpti_ActivityAPI wrong{};
  wrong.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  wrong.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  wrong.start = wrong.end = fakecupti_now();
  wrong.correlationId = correlation;
  wrong.threadId = NotedLaunches::tid_of_caller() + 1;
  fakecupti_append(&wrong, sizeof wrong);
  fakecupti_synchronize("cudaStreamSynchronize_v3020", 1, 7);
  recording.stop();
  CHECK(recording.counted(health::launch_disagreements) == 1);
}

TEST_CASE("without API records nothing is compared and launches are noted all the same", "[source]") {
  CuptiProcess process;
  process.options.api_records = false;
  const auto launches = noted(process, [] {
    const FakeKernel k = kernel("k");
    fakecupti_launch("cudaLaunchKernel_v7000", &k);
  });
  CHECK(launches.size() == 1);
}

TEST_CASE("what our own threads trigger is no launch of the program", "[source]") {
  CuptiProcess process;
  const auto launches = noted(process, [] {
    std::thread([] {
      cupti::ignore_callbacks_of_this_thread();
      const FakeKernel k = kernel("ours");
      fakecupti_launch("cudaLaunchKernel_v7000", &k);
    }).join();
  });
  CHECK(launches.empty());
}

}  // namespace rangefinder::source::testing
