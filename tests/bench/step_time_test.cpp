// SPDX-License-Identifier: MIT
#include "bench/step_time.hpp"

#include "bench/simulated_steps.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <functional>
#include <random>

using namespace rangefinder;
using namespace rangefinder::bench;
using namespace rangefinder::testing;

TEST_CASE("the parts of a step are those of its timeline", "[bench]") {
  SimulatedSteps s;
  s.step([&] {
    s.range("data", [&] { s.work(100 * kMicrosecond); });
    s.kernel(20 * kMicrosecond);
    s.wait();  // for 5 us less 4 us, 20 us, and 6 us until it returns
    s.work(10 * kMicrosecond);
    s.copy(1, 30 * kMicrosecond);
    s.kernel(50 * kMicrosecond, "ncclKernel");
    s.kernel(40 * kMicrosecond, "kernel", 8);  // beside the copy
  });
  const StepTime time = step_time(s.build()).value();
  CHECK(time.on_device);
  CHECK(time.input_ns == 100 * kMicrosecond);
  CHECK(time.input_range == "data");
  CHECK(time.computing_ns == 20 * kMicrosecond + 40 * kMicrosecond);
  CHECK(time.to_device_ns == 8 * kMicrosecond);       // until two launches of 4 us later the kernel began
  CHECK(time.communicating_ns == 32 * kMicrosecond);  // behind that kernel
  CHECK(time.waited_ns == 21 * kMicrosecond);         // the gap is 6 + 10 + 5 us, and the wait was 27 us
  CHECK(sum_of_parts(time) == time.step_ns);
}

TEST_CASE("a step inside of a step counts once", "[bench]") {
  SimulatedSteps s;
  s.step([&] {
    s.kernel(20 * kMicrosecond);
    s.range("step", [&] { s.work(100 * kMicrosecond); });  // the optimizer's, say
  });
  const StepTime time = step_time(s.build()).value();
  CHECK(time.computing_ns == 20 * kMicrosecond);
  CHECK(time.step_ns == (6 + 4 + 100 + 6) * kMicrosecond);
  CHECK(step_time(TimelineBuilder().range("other", 0, 100).build()).value().step_ns == 0);
}

TEST_CASE("the parts of a step add up, whatever happens in it", "[bench][property]") {
  for (const std::uint64_t seed : property_seeds("parts of a step", repeats(200))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    SimulatedSteps s;
    const auto some = [&](std::int64_t most) { return static_cast<std::int64_t>(below(random, std::uint64_t(most))); };
    const std::function<void(int)> act = [&](int depth) {
      const char* const names[] = {"data", "forward", "all_reduce", "input.read", "loss"};
      switch (below(random, 8)) {
        case 0:
          return s.work(some(3 * kMillisecond));
        case 1:
          return s.wait(below(random, 2) == 0 ? "cudaDeviceSynchronize_v3020" : "cudaStreamSynchronize_v3020");
        case 2:
          return s.copy(static_cast<std::uint32_t>(1 + below(random, 10)), some(500 * kMicrosecond), 7 + some(3));
        case 3:
          return s.graph(static_cast<int>(1 + below(random, 20)), some(20 * kMicrosecond), some(10 * kMicrosecond));
        case 4:
          if (depth > 3) return;
          return s.range(names[below(random, 5)],
                         [&] { repeat(static_cast<int>(below(random, 5)), [&] { act(depth + 1); }); });
        default:
          return s.kernel(some(200 * kMicrosecond), below(random, 4) == 0 ? "ncclKernel" : "kernel", 7 + some(3));
      }
    };
    s.kernel(1);
    repeat(3, [&] { s.step([&] { repeat(static_cast<int>(below(random, 30)), [&] { act(0); }); }); });
    const StepTime time = step_time(s.build()).value();
    CHECK(sum_of_parts(time) == time.step_ns);
    for (const std::int64_t part :
         {time.computing_ns, time.communicating_ns, time.to_device_ns, time.to_host_ns, time.input_ns, time.exchange_ns,
          time.waited_ns, time.host_ns, time.unnamed_ns, time.queued_ns, time.other_ns})
      CHECK(part >= 0);
  }
}
