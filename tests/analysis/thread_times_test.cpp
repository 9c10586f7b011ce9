// SPDX-License-Identifier: MIT
#include "analysis/thread_times.hpp"

#include "analysis/random_device_job.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

std::vector<ThreadTimes> times_of(const Timeline& timeline) {
  return thread_times(timeline, project(timeline, {}), ProjectionOptions());
}

std::int64_t sum_of(const ThreadTimes& times) {
  return std::accumulate(times.state_ns.begin(), times.state_ns.end(), times.idle_ns);
}

}  // namespace

TEST_CASE("the time of a thread is divided into what it did", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("aten::mm", 20, 50).of_kind(RangeKind::kOperator);
  builder.call("cudaStreamSynchronize", 70, 90);
  builder.on_thread(2).range("load", 10, 40);
  builder.on_thread(3).mark("alive", 200);  // nothing tells what it did
  const std::vector<ThreadTimes> threads = times_of(builder.build());
  REQUIRE(threads.size() == 2);
  CHECK(threads[0].thread == 0);
  CHECK(threads[0].of(HostState::kOperator) == 30);
  CHECK(threads[0].of(HostState::kRange) == 50);
  CHECK(threads[0].of(HostState::kDeviceWait) == 20);
  CHECK(threads[0].recorded_ns == 200);
  CHECK(threads[0].idle_ns == 100);
  CHECK(threads[1].running_ns() == 30);
}

TEST_CASE("time outside of the windows of a recording is none of a thread", "[analysis]") {
  TimelineBuilder builder;
  builder.window(0, 30).window(70, 100).range("step", 10, 90);
  const std::vector<ThreadTimes> threads = times_of(builder.build());
  REQUIRE(threads.size() == 1);
  CHECK(threads[0].recorded_ns == 60);
  CHECK(threads[0].running_ns() == 20 + 20);
  CHECK(threads[0].idle_ns == 20);
}

TEST_CASE("CPU time of a thread is that of its outermost counted ranges", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("layer", 10, 50).cpu_counts({{CpuEvent::kCpuTime, 30}});
  builder.range("inner", 20, 30).range("innermost", 22, 26).cpu_counts({{CpuEvent::kCpuTime, 4}});
  builder.range("again", 60, 80).cpu_counts({{CpuEvent::kCpuTime, 5}});
  builder.on_thread(2).range("load", 0, 10);
  const std::vector<ThreadTimes> threads = times_of(builder.build());
  REQUIRE(threads.size() == 2);
  CHECK(threads[0].cpu_ns == 35);
  CHECK(threads[0].counted_ns == 40 + 20);
  CHECK_FALSE(threads[1].cpu_ns.has_value());
}

TEST_CASE("threads that run at the same time add up within a window", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 100).call("cudaStreamSynchronize", 40, 60);
  builder.on_thread(2).range("b", 30, 50).range("c", 50, 70);
  builder.on_process(9).range("other", 0, 1000);
  const RunningThreads running(builder.build(), {});
  const ProcessIndex first{0};
  CHECK(running.threads(first) == 2);
  CHECK(running.between(first, 0, 100) == 80 + 40);
  CHECK(running.between(first, 35, 55) == 5 + 20);
  CHECK(running.between(first, -50, 10) == 10);
  CHECK(running.between(first, 95, 500) == 5);
  CHECK(running.between(first, 60, 60) == 0);
  CHECK(running.between(ProcessIndex{1}, 0, 10) == 10);
  CHECK(running.between(ProcessIndex{7}, 0, 10) == 0);
}

TEST_CASE("states of a thread add up to the recorded time, and running threads to theirs", "[analysis][property]") {
  for (const std::uint64_t seed : property_seeds("times of threads", repeats(200))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    Timeline timeline = random_device_job(random);
    for (const ThreadTimes& times : times_of(timeline)) {
      CHECK(sum_of(times) == times.recorded_ns);
      CHECK(times.idle_ns >= 0);
    }
    timeline.windows.clear();
    const RunningThreads running(timeline, {});
    std::int64_t sum = 0;
    for (const ThreadTimes& times : times_of(timeline)) sum += times.running_ns();
    CHECK(running.between(ProcessIndex{0}, -10, 1000) == sum);
    const std::int64_t split = static_cast<std::int64_t>(below(random, 500));
    CHECK(running.between(ProcessIndex{0}, -10, split) + running.between(ProcessIndex{0}, split, 1000) == sum);
  }
}

TEST_CASE("threads of a real job on CPUs", "[analysis][data]") {
  const std::string path = shared_file("data/kineto/cpu_only_rank34.json.gz");
  if (path.empty()) RANGEFINDER_SKIP("no traces (RANGEFINDER_SHARED)");
  const Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline);
  const std::vector<ThreadTimes> threads = times_of(*timeline);
  REQUIRE_FALSE(threads.empty());
  std::int64_t running = 0, collectives = 0;
  for (const ThreadTimes& times : threads) {
    CHECK(sum_of(times) == times.recorded_ns);
    running += times.running_ns();
    collectives += times.of(HostState::kCollective);
  }
  std::printf("cpu_only_rank34: %zu threads, %lld ns running, %lld ns in collectives, of %lld ns\n", threads.size(),
              static_cast<long long>(running), static_cast<long long>(collectives),
              static_cast<long long>(threads.front().recorded_ns));
  CHECK(collectives > 0);
}
