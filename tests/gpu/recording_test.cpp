// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/cuda_program/cuda_program.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <unistd.h>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

using namespace rangefinder;
using rangefinder::testing::CudaProgram;

namespace {

/// A capture of what `body` does, read back and removed.
template <typename Body>
Timeline recorded(Body&& body) {
  SessionOptions options;
  options.output = "/tmp/rangefinder-gpu-%p.rfcap";
  Session session(options);
  REQUIRE(session.status().ok());
  CAPTURE(session.device().reason);
  REQUIRE(session.device().full);
  body();
  REQUIRE(session.stop().ok());
  Result<Timeline> timeline = load_timeline(session.output());
  ::unlink(session.output().c_str());
  REQUIRE(timeline);
  return std::move(*timeline);
}

std::map<std::string, std::uint64_t> ops_of_names(const Timeline& timeline, const std::vector<DeviceFigures>& figures) {
  std::map<std::string, std::uint64_t> ops;
  for (RangeIndex range = 0; range < timeline.ranges.size(); ++range)
    ops[std::string(timeline.text(timeline.ranges.name[range]))] += figures[range].gpu_ops;
  return ops;
}

}  // namespace

TEST_CASE("every activity of a real device belongs to the range that launched it", "[gpu]") {
  Result<CudaProgram> program = CudaProgram::open();
  if (!program) RANGEFINDER_SKIP(program.error().message());
  constexpr int kSteps = 500;
  const Timeline timeline = recorded([&] {
    for (int i = 0; i < kSteps; ++i) {
      ProfileRange step{"step"};
      REQUIRE(program->launch(0).ok());
      {
        ProfileRange range{"forward"};
        for (int k = 0; k < 3; ++k) REQUIRE(program->launch(k % 2, 2000).ok());
        ProfileRange inner{"copy"};
        REQUIRE(program->copy(1, 1 << 16).ok());
      }
      ProfileRange range{"fill"};
      REQUIRE(program->fill(0, 1 << 16).ok());
    }
    REQUIRE(program->launch(0).ok());  // outside
    REQUIRE(program->synchronize().ok());
  });
  const Projection projection = project(timeline, {});
  const Account& account = projection.account;
  std::printf(
      "%llu activities: owned %llu, outside %llu, before %llu, unknown %llu\n",
      static_cast<unsigned long long>(account.total.gpu_ops), static_cast<unsigned long long>(account.owned.gpu_ops),
      static_cast<unsigned long long>(account.outside.gpu_ops), static_cast<unsigned long long>(account.before.gpu_ops),
      static_cast<unsigned long long>(account.unknown.gpu_ops));
  CHECK(account.total.gpu_ops == 6 * kSteps + 1);
  CHECK(account.owned.gpu_ops == 6 * kSteps);
  CHECK(account.outside.gpu_ops == 1);
  CHECK(account.unknown.gpu_ops == 0);
  CHECK(timeline.health.complete());
  CHECK(timeline.health.launch_disagreements == 0);
  auto own = ops_of_names(timeline, projection.exclusive);
  CHECK(own["step"] == kSteps);
  CHECK(own["forward"] == 3 * kSteps);
  CHECK(own["copy"] == kSteps);
  CHECK(own["fill"] == kSteps);
}

TEST_CASE("the callback and the API record agree on every launch of a real device", "[gpu]") {
  Result<CudaProgram> program = CudaProgram::open();
  if (!program) RANGEFINDER_SKIP(program.error().message());
  const Timeline timeline = recorded([&] {
    ProfileRange range{"all"};
    for (int i = 0; i < 1000; ++i) REQUIRE(program->launch(i % 2).ok());
    REQUIRE(program->synchronize().ok());
  });
  std::size_t compared = 0;
  for (std::size_t row = 0; row < timeline.launches.size(); ++row) {
    if (timeline.launches.source[row] != LaunchSource::kCallback) continue;
    const CallIndex call = timeline.launches.call[row];
    REQUIRE(call != kNone);
    CHECK(timeline.calls.thread[call] == timeline.launches.thread[row]);
    // The note is made inside the call; both clocks are converted, so by their error at most it may seem otherwise.
    CHECK(timeline.calls.begin_ns[call] <= timeline.launches.time_ns[row] + 2 * timeline.clock_error_ns);
    CHECK(timeline.launches.time_ns[row] <= timeline.calls.end_ns[call] + 2 * timeline.clock_error_ns);
    ++compared;
  }
  CHECK(compared >= 1000);
}

TEST_CASE("device times lie between the launch and the end of the wait for it", "[gpu]") {
  Result<CudaProgram> program = CudaProgram::open();
  if (!program) RANGEFINDER_SKIP(program.error().message());
  constexpr std::uint64_t kLength = 200'000;
  std::vector<std::int64_t> by_events;
  const Timeline timeline = recorded([&] {
    for (int i = 0; i < 50; ++i) {
      ProfileRange range{"launch and wait"};
      const Result<std::int64_t> length = program->launch_between_events(0, kLength);
      REQUIRE(length);
      by_events.push_back(*length);
    }
  });
  std::size_t kernel = 0;
  std::int64_t widest = 0;
  for (ActivityIndex row = 0; row < timeline.activities.size(); ++row) {
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
