// SPDX-License-Identifier: MIT
// What the graph of a long recording costs. RANGEFINDER_EXHAUSTIVE: of ten million activities.
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <rangefinder/analysis/critical_path.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <utility>

using namespace rangefinder;

namespace {

/// Steps of a thousand operators, each with a call that launches a kernel; the host waits at the end of a step.
Timeline long_timeline(std::uint64_t activities) {
  constexpr std::int64_t kEvery = 10'000;
  Timeline timeline;
  timeline.processes.resize(1);
  timeline.threads.resize(1);
  timeline.devices.resize(1);
  timeline.streams.resize(4);
  const StringId op = timeline.intern("aten::mm"), launch = timeline.intern("cudaLaunchKernel"),
                 wait = timeline.intern("cudaDeviceSynchronize"), kernel = timeline.intern("gemm");
  std::int64_t now = 0, step_begin = 0;
  for (std::uint64_t i = 0; i < activities; ++i) {
    timeline.ranges.append({.name = op, .kind = RangeKind::kOperator, .begin_ns = now, .end_ns = now + 9000});
    const CallIndex call =
        timeline.calls.append({.name = launch, .begin_ns = now + 2000, .end_ns = now + 7000, .correlation = i + 1});
    const LaunchIndex row = timeline.launches.append({.correlation = i + 1, .time_ns = now + 2000, .call = call});
    timeline.activities.append({.name = kernel,
                                .stream = StreamIndex(i % 4),
                                .begin_ns = now + 6000,
                                .end_ns = now + 20'000,
                                .correlation = i + 1,
                                .launch = row});
    now += kEvery;
    if (i % 1000 != 999) continue;
    timeline.calls.append({.name = wait, .begin_ns = now, .end_ns = now + 12'000});
    now += 15'000;
    timeline.steps.append({.number = static_cast<std::int64_t>(i / 1000), .begin_ns = step_begin, .end_ns = now});
    step_begin = now;
  }
  timeline.end_ns = now;
  return timeline;
}

/// Of the processor: other programs may run.
class Seconds {
 public:
  double taken() const { return static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t begin_ = std::clock();
};

}  // namespace

TEST_CASE("the graph takes memory in proportion to what was recorded", "[critical_path]") {
  const std::uint64_t count = rangefinder::testing::exhaustive() ? GENERATE(1'000'000, 10'000'000) : 20'000;
  const Timeline timeline = long_timeline(count);
  const Seconds building;
  const CriticalPathGraph graph(timeline);
  const double build = building.taken();
  const auto steps = graph.steps();
  REQUIRE(steps.size() == count / 1000);
  const Seconds walking;
  const auto paths = graph.paths({graph.whole()});
  const double path = walking.taken();
  const Seconds asking;
  const auto times = graph.times(
      steps, [](const CriticalSegment& segment) { return segment.reason == CriticalReason::kComputation ? 0.5 : 1.0; });
  const double what_if = asking.taken();
  CHECK(times.size() == steps.size());
  const std::uint64_t bytes = graph.memory_bytes() / count;
  std::printf(
      "%llu activities: built in %.2f s, path in %.2f s, what-if in %.2f s of the processor, %llu bytes an activity\n",
      static_cast<unsigned long long>(count), build, path, what_if, static_cast<unsigned long long>(bytes));
  // A kernel with its operator and its call: a node of its own, five of the thread, two edges.
  CHECK(bytes <= 400);
}
