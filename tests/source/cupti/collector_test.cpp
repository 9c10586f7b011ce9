// SPDX-License-Identifier: MIT
#include "source/cupti/collector.hpp"

#include "cupti_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

// Buffers and flushes: late, out of order, refused, dropped, hanging, taken over.
namespace rangefinder::source::testing {

TEST_CASE("buffers that come late and in another order lose nothing", "[source][fault]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  process.options.buffer_bytes = 4096;
  process.options.memory_bytes = 8 << 20;
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  SECTION("held back until after two flushes") {
    fakecupti_set_delivery(kFakeHeld);
    for (int i = 0; i < 200; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &k);
    recording.flush();
    CHECK(recording.kernels.empty());
    recording.flush();
    fakecupti_deliver();
    recording.flush();
    CHECK(recording.kernels.size() == 200);
  }
  SECTION("last buffer first") {
    fakecupti_set_delivery(kFakeReversed);
    for (int i = 0; i < 200; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &k);
    recording.flush();
    CHECK(recording.kernels.size() == 200);
  }
  recording.stop();
  CHECK(recording.kernels.size() == 200);
  CHECK(recording.apis.size() == 200);
  CHECK(recording.counts().empty());
}

TEST_CASE("a kernel that still runs is delivered when it is done", "[source]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  CuptiRecording recording(process);
  FakeKernel k = kernel("slow");
  k.open = true;
  const std::uint32_t correlation = fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.flush();
  CHECK(recording.kernels.empty());
  SECTION("in time") {
    const std::uint64_t now = fakecupti_now();
    fakecupti_complete(correlation, now, now + 50);
    recording.stop();
    REQUIRE(recording.kernels.size() == 1);
    CHECK(recording.kernels[0].end_ns - recording.kernels[0].begin_ns == 50);
    CHECK(recording.counts().empty());
  }
  SECTION("or counted when the recording ends first") {
    recording.stop();
    CHECK(recording.kernels.empty());
    CHECK(recording.apis.size() == 1);
    CHECK(recording.counted(health::untimed_activities) == 1);
  }
}

TEST_CASE("work that is done within the patience of a stop is waited for", "[source]") {
  CuptiProcess process;
  process.options.stop_patience = 60s;
  CuptiRecording recording(process);
  FakeKernel k = kernel("slow");
  k.open = true;
  const std::uint32_t correlation = fakecupti_launch("cudaLaunchKernel_v7000", &k);
  std::thread device([&] {
    fakecupti_wait_calls("cuptiActivityFlushAll", 3);
    const std::uint64_t now = fakecupti_now();
    fakecupti_complete(correlation, now, now + 50);
  });
  recording.source.stop(std::chrono::steady_clock::now() + 180s);
  device.join();
  CHECK(recording.kernels.size() == 1);
  CHECK(recording.counts().empty());
}

TEST_CASE("complete records are fetched every flush period without being asked for", "[source]") {
  CuptiProcess process;
  process.options.flush_period = 1ms;
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  const std::uint64_t flushes = fakecupti_calls("cuptiActivityFlushAll");
  fakecupti_wait_calls("cuptiActivityFlushAll", flushes + 3);
  recording.stop();
  CHECK(recording.kernels.size() == 1);
  CHECK(recording.clock_samples >= 2);
}

TEST_CASE("refused buffers and dropped records are counted", "[source][fault]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  process.options.buffer_bytes = 4096;
  process.options.memory_bytes = 8192;
  CuptiRecording recording(process);
  recording.flush();
  FakeKernel k = kernel("k");
  k.open = true;  // so that no buffer comes back
  constexpr std::uint64_t kLaunches = 200;
  std::vector<std::uint32_t> launched;
  for (std::uint64_t i = 0; i < kLaunches; ++i) launched.push_back(fakecupti_launch("cudaLaunchKernel_v7000", &k));
  const std::uint64_t now = fakecupti_now();
  for (const std::uint32_t correlation : launched) fakecupti_complete(correlation, now, now + 1);
  recording.stop();
  CHECK(recording.counted(health::cupti_refused_buffers) > 0);
  CHECK(recording.counted(health::cupti_dropped) > 0);
  // Every record is either here or counted: a kernel and a call for each launch.
  CHECK(recording.kernels.size() + recording.apis.size() + recording.counted(health::cupti_dropped) == 2 * kLaunches);
  CHECK(NotedLaunches::take().size() == kLaunches);
}

TEST_CASE("a CUPTI that crashes when refused gets small buffers beyond the bound", "[source][fault]") {
  CuptiProcess process;
  fakecupti_set_version(26);  // 12.8
  process.options.buffer_bytes = 4096;
  process.options.memory_bytes = 8192;
  CuptiRecording recording(process);
  FakeKernel k = kernel("k");
  k.open = true;
  std::vector<std::uint32_t> launched;
  for (int i = 0; i < 1000; ++i) launched.push_back(fakecupti_launch("cudaLaunchKernel_v7000", &k));
  const std::uint64_t now = fakecupti_now();
  for (const std::uint32_t correlation : launched) fakecupti_complete(correlation, now, now + 1);
  recording.stop();
  CHECK(recording.kernels.size() == 1000);
  CHECK(recording.counted(health::cupti_refused_buffers) == 0);
  CHECK(recording.counted(health::cupti_dropped) == 0);
  CHECK(std::stoi(recording.fact("cupti_emergency_buffers")) > 1);
}

TEST_CASE("records that CUPTI lost by itself are counted", "[source][fault]") {
  CuptiProcess process;
  fakecupti_add_dropped(1000);  // before the recording: not counted
  CuptiRecording recording(process);
  fakecupti_add_dropped(7);
  recording.flush();
  fakecupti_add_dropped(5);
  recording.stop();
  CHECK(recording.counted(health::cupti_dropped) == 12);
}

TEST_CASE("a buffer that is returned twice, or was never ours, is counted and left alone", "[source][fault]") {
  CuptiProcess process;
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.flush();
  fakecupti_return_again();
  fakecupti_return_foreign();
  recording.stop();
  CHECK(recording.kernels.size() == 1);
  CHECK(recording.counted(health::cupti_errors) == 2);
}

TEST_CASE("a flush that hangs is reported, holds up nothing, and is forgiven when it returns", "[source][fault]") {
  CuptiProcess process;
  process.options.flush_patience = 0ms;
  CuptiRecording recording(process);
  fakecupti_hang("cuptiActivityFlushAll");
  std::thread impatient([&] { recording.source.flush(already()); });
  fakecupti_wait_hanging();
  impatient.join();
  const SourceState stuck = recording.source.state();
  CHECK_FALSE(stuck.working);
  CHECK(stuck.reason.find("CUPTI does not answer: a call has not returned for 0 s") == 0);
  // Launches are noted all the same, and pauses are possible.
  const FakeKernel k = kernel("k");
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.source.set_active(false);
  recording.source.set_active(true);
  CHECK(NotedLaunches::take().size() == 1);
  recording.source.flush(already());  // the same hang: not counted again
  SECTION("it returns") {
    fakecupti_release_hangs();
    recording.flush();
    CHECK(recording.source.state().working);
    recording.stop();
    CHECK(recording.kernels.size() == 1);
    CHECK(recording.counted(health::flush_timeouts) == 1);
    // Said only where the trouble had been noticed and said before.
    const std::string state = recording.fact("device_state");
    CHECK((state.empty() || state == "full"));
  }
  SECTION("it does not: stop keeps its deadline") {
    recording.source.stop(already());
    CHECK(recording.counted(health::flush_timeouts) == 1);
    CHECK(recording.kernels.empty());
    CHECK(recording.fact("device_state").find("host_only: CUPTI does not answer") == 0);
    // Nor is there another recording before it comes back.
    KeepingSink other;
    CuptiSource next = process.source();
    const SourceState refused = next.start(other);
    CHECK_FALSE(refused.working);
    CHECK(refused.reason.find("a call of an earlier recording has not returned") != std::string::npos);
    const std::size_t kept = recording.kernels.size();
    fakecupti_release_hangs();
    REQUIRE(cupti_release(soon()).ok());
    CHECK(recording.kernels.size() == kept);  // the old recording is not touched any more
    CHECK(next.start(other).working);
  }
}

TEST_CASE("a periodic flush that hangs is noticed without anybody asking", "[source][fault]") {
  CuptiProcess process;
  process.options.flush_period = 1ms;
  process.options.flush_patience = 0ms;
  CuptiRecording recording(process, false);
  fakecupti_hang("cuptiActivityFlushAll");
  fakecupti_wait_hanging();
  CHECK_FALSE(recording.source.state().working);
  recording.source.stop(already());
  CHECK(recording.counted(health::flush_timeouts) >= 1);
}

TEST_CASE("a recording that ends fetches its records when nothing new is added to them", "[source]") {
  static decltype(CuptiApi::cuptiActivityFlushAll) fake_flush;
  static int flushes_while_enabled;
  flushes_while_enabled = 0;
  CuptiProcess process;
  process.change = [](CuptiApi& api) {
    fake_flush = std::exchange(
        api.cuptiActivityFlushAll, +[](std::uint32_t flag) {
          flushes_while_enabled += fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ? 1 : 0;
          return fake_flush(flag);
        });
  };
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.flush();
  CHECK(flushes_while_enabled == 1);
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.stop();
  CHECK(flushes_while_enabled == 1);
  CHECK(recording.kernels.size() == 2);
}

TEST_CASE("another profiler that takes over the buffers is noticed, and so is its going", "[source][fault]") {
  const bool given_up = GENERATE(false, true);
  CuptiProcess process;
  process.options.watchdog_launches = 50;
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  const auto launch = [&](int n) {
    for (int i = 0; i < n; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &k);
  };
  launch(10);
  recording.flush();
  CHECK(recording.kernels.size() == 10);
  fakecupti_steal_buffers(true);
  launch(49);
  recording.flush();
  recording.flush();
  recording.flush();
  CHECK(recording.source.state().working);  // not enough to say so
  launch(99);
  FakeKernel running = kernel("running");
  running.open = true;
  fakecupti_launch("cudaLaunchKernel_v7000", &running);
  recording.flush();
  CHECK(recording.source.state().working);  // what is launched between a flush and a look at it is not late
  recording.flush();
  const SourceState taken = recording.source.state();
  CHECK_FALSE(taken.working);
  CHECK(taken.reason.find(
            "another profiler in this process took over CUPTI's buffers: 149 launches without a record") == 0);
  CHECK(recording.fact("device_state").find("host_only: another profiler") == 0);
  CHECK(NotedLaunches::take().size() == 159);
  const std::uint64_t out = fakecupti_buffers_out();
  recording.stop();
  CHECK(recording.counted(health::launches_without_records) == 149);
  CHECK(recording.counted(health::device_outages) == 1);
  // What is on is the other's now, and so is what it has not fetched yet.
  CHECK(fakecupti_calls("cuptiActivityDisable") == 0);
  CHECK(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  CHECK_FALSE(fakecupti_callback_enabled("cudaLaunchKernel_v7000"));
  CHECK(fakecupti_buffers_out() == out);
  if (given_up) {
    REQUIRE(cupti_release(soon()).ok());
    CHECK_FALSE(fakecupti_subscribed());
    CHECK(fakecupti_buffers_out() == out);
  }
  // The other goes, and switches off what it had on. The next recording registers its buffers anew.
  fakecupti_steal_buffers(false);
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME})
    REQUIRE(fake_api().cuptiActivityDisable(kind) == CUPTI_SUCCESS);
  CuptiRecording next(process);
  launch(5);
  next.stop();
  CHECK(next.kernels.size() == 5);
}

TEST_CASE("launches that leave no record until the end are counted, however few", "[source][fault]") {
  CuptiProcess process;
  const std::uint64_t launches = GENERATE(1, 10'000);
  const bool calls_recorded = GENERATE(true, false);
  process.options.api_records = calls_recorded;
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  for (int i = 0; i < 100; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.flush();
  fakecupti_steal_buffers(true);
  for (std::uint64_t i = 0; i < launches; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.flush();
  recording.stop();
  CHECK(recording.kernels.size() == 100);
  // Without a record of each call, a call that leaves no work (one that failed, say) cannot be told from a lost one.
  CHECK(recording.counted(health::launches_without_records) == (calls_recorded ? launches : 0));
  CHECK(recording.counted(health::device_outages) == (calls_recorded ? 1 : 0));
  CHECK((recording.fact("device_state") ==
         "host_only: " + std::to_string(launches) +
             " launches at the end left no record: another profiler in this process may "
             "have taken over CUPTI's buffers") == calls_recorded);
  fakecupti_steal_buffers(false);
  CuptiRecording next(process);
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  next.stop();
  CHECK(next.kernels.size() == (calls_recorded ? 1 : 0));  // where it was noticed, the buffers are registered anew
}

TEST_CASE("launches whose buffer CUPTI keeps to the end are not taken for another profiler's", "[source][fault]") {
  CuptiProcess process;
  CuptiRecording recording(process);
  const FakeKernel k = kernel("k");
  fakecupti_fail("cuptiActivityFlushAll", CUPTI_ERROR_UNKNOWN);
  for (int i = 0; i < 3; ++i) {
    fakecupti_launch("cudaLaunchKernel_v7000", &k);
    recording.flush();
  }
  recording.stop();
  CHECK(recording.kernels.empty());
  CHECK(recording.counted(health::kept_buffers) != 0);
  CHECK(recording.counted(health::launches_without_records) == 0);
  CHECK(recording.counted(health::device_outages) == 0);
}

TEST_CASE("many launches while a slow kernel keeps its buffer are no takeover", "[source]") {
  CuptiProcess process;
  process.options.watchdog_launches = 50;
  process.options.buffer_bytes = 4096;
  process.options.memory_bytes = 4 << 20;
  CuptiRecording recording(process);
  FakeKernel slow = kernel("slow");
  slow.open = true;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 100; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &slow);
    recording.flush();
    CHECK(recording.source.state().working);
  }
  recording.stop();
  CHECK(recording.counted(health::untimed_activities) == 500);
}

TEST_CASE("when CUPTI shuts itself down the recording goes on without it, and no call reaches it any more",
          "[source][fault]") {
  CuptiProcess process;
  KeepingSink sink;
  CuptiSource source = process.source();
  REQUIRE(source.start(sink).working);
  source.set_active(true);
  const FakeKernel k = kernel("k");
  NotedLaunches::take();
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  fakecupti_fatal_error(CUPTI_ERROR_HARDWARE);
  fakecupti_launch("cudaLaunchKernel_v7000", &k);
  // Another thread may be in a callback just then.
  enter_launch(99);
  CHECK(NotedLaunches::take().size() == 1);
  const SourceState state = source.state();
  CHECK_FALSE(state.working);
  CHECK(state.reason ==
        "CUPTI has shut itself down: the device reported an error (CUPTI_ERROR_HARDWARE, 9); ranges go on without "
        "device activity");
  source.flush(soon());
  source.set_active(false);
  source.stop(soon());
  CHECK(sink.kernels.size() == 1);  // what it still handed out is kept
  CHECK(sink.counted(health::device_outages) == 1);
  CHECK(sink.fact("device_state").find("host_only: CUPTI has shut itself down") == 0);
  CHECK(source.state().reason == state.reason);
  CuptiSource next = process.source();
  CHECK_FALSE(next.start(sink).working);
}

}  // namespace rangefinder::source::testing
