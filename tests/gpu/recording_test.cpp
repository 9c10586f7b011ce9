// SPDX-License-Identifier: MIT
#include "gpu_recording.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("every activity of a real device belongs to the range that launched it", "[launches]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  constexpr int kSteps = 500;
  const Timeline timeline = recorded("launches", [&](Session&) {
    for (int i = 0; i < kSteps; ++i) {
      ProfileRange step{"step"};
      REQUIRE(program.launch(0).ok());
      {
        ProfileRange range{"forward"};
        for (int k = 0; k < 3; ++k) REQUIRE(program.launch(k % 2, 2000).ok());
        ProfileRange inner{"copy"};
        REQUIRE(program.copy(1, 1 << 16).ok());
      }
      ProfileRange range{"fill"};
      REQUIRE(program.fill(0, 1 << 16).ok());
    }
    REQUIRE(program.launch(0).ok());  // outside
    REQUIRE(program.synchronize().ok());
  });
  CHECK(operations(timeline, Attribution::kAuto) ==
        Operations{{"step", kSteps}, {"forward", 3 * kSteps}, {"copy", kSteps}, {"fill", kSteps}, {"[outside]", 1}});
  CHECK(timeline.health.complete());
  CHECK(timeline.health.launch_disagreements == 0);
}

TEST_CASE("the callback and the API record agree on every launch of a real device", "[launches]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  const Timeline timeline = recorded("agreement", [&](Session&) {
    ProfileRange range{"all"};
    for (int i = 0; i < 1000; ++i) REQUIRE(program.launch(i % 2).ok());
    REQUIRE(program.synchronize().ok());
  });
  std::size_t compared = 0;
  std::int64_t longest = 0;
  for (std::size_t row = 0; row < timeline.launches.size(); ++row) {
    if (timeline.launches.source[row] != LaunchSource::kCallback) continue;
    const CallIndex call = timeline.launches.call[row];
    REQUIRE(call != kNone);
    CHECK(timeline.calls.thread[call] == timeline.launches.thread[row]);
    // The note is made where the call begins, and CUPTI looks at its clock some 50 ns later, the first time later than
    // that; both clocks are converted.
    const std::int64_t before = timeline.calls.begin_ns[call] - timeline.launches.time_ns[row];
    longest = std::max(longest, before);
    CHECK(before <= 100'000);
    CHECK(timeline.launches.time_ns[row] <= timeline.calls.end_ns[call] + 2 * timeline.clock_error_ns);
    ++compared;
  }
  CHECK(compared >= 1000);
  std::printf("notes are made up to %lld ns before the begin of their calls\n", static_cast<long long>(longest));
}

TEST_CASE("device times lie between the launch and the end of the wait for it", "[launches]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  constexpr std::uint64_t kLength = 200'000;
  std::vector<std::int64_t> by_events;
  const Timeline timeline = recorded("times", [&](Session&) {
    for (int i = 0; i < 50; ++i) {
      ProfileRange range{"launch and wait"};
      const Result<std::int64_t> length = program.launch_between_events(0, kLength);
      REQUIRE(length);
      by_events.push_back(*length);
    }
  });
  std::size_t kernel = 0;
  std::int64_t widest = 0;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
    if (timeline.activities.kind[row] != ActivityKind::kKernel) continue;
    REQUIRE(kernel < by_events.size());
    const std::int64_t begin = timeline.activities.begin_ns[row], end = timeline.activities.end_ns[row];
    const std::int64_t slack = 2 * timeline.clock_error_ns;
    CHECK(begin >= timeline.ranges.begin_ns[kernel] - slack);
    CHECK(end <= timeline.ranges.end_ns[kernel] + slack);
    // The events enclose the kernel.
    CHECK(end - begin >= static_cast<std::int64_t>(kLength));
    CHECK(end - begin <= by_events[kernel] + 1000);
    widest = std::max(widest, by_events[kernel] - (end - begin));
    ++kernel;
  }
  CHECK(kernel == by_events.size());
  std::printf("clock error bound %lld ns; events are at most %lld ns longer than the kernels between them\n",
              static_cast<long long>(timeline.clock_error_ns), static_cast<long long>(widest));
}
