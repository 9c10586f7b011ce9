// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/analysis/advice.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

using rangefinder::Advice;
using rangefinder::AdviceBound;
using rangefinder::AdviceFinding;
using rangefinder::AdviceOptions;
using rangefinder::AdviceRule;
using rangefinder::advise;
using rangefinder::Timeline;
using rangefinder::testing::TimelineBuilder;

namespace {

constexpr std::int64_t kUs = 1000;
constexpr std::int64_t kStepNs = 1000 * kUs;

/// A loop of equal steps of a millisecond: `body` fills the step that begins at the time given.
Timeline loop_of(const std::function<void(TimelineBuilder&, std::int64_t)>& body, int steps = 12) {
  TimelineBuilder build;
  for (int step = 0; step < steps; ++step) {
    const std::int64_t at = step * kStepNs;
    build.step(step, at, at + kStepNs).range("step", at, at + kStepNs);
    body(build, at);
  }
  return build.build();
}

/// A kernel, a call of the host that lasts until it is done, 200 us of the host's own work, and another kernel.
void waiting_step(TimelineBuilder& build, std::int64_t at, const char* call) {
  build.launch_call("cudaLaunchKernel", at + 5 * kUs, at + 10 * kUs).kernel(at + 12 * kUs, at + 400 * kUs, "first");
  build.call(call, at + 20 * kUs, at + 402 * kUs);
  build.launch_call("cudaLaunchKernel", at + 600 * kUs, at + 605 * kUs)
      .kernel(at + 607 * kUs, at + 998 * kUs, "second");
}

const AdviceFinding* found(const Advice& advice, AdviceRule rule) {
  const auto one = std::find_if(advice.findings.begin(), advice.findings.end(),
                                [rule](const AdviceFinding& finding) { return finding.rule == rule; });
  return one == advice.findings.end() ? nullptr : &*one;
}

bool abstains(const Advice& advice, AdviceRule rule) {
  return std::any_of(advice.abstentions.begin(), advice.abstentions.end(),
                     [rule](const auto& one) { return one.rule == rule && !one.missing.empty(); });
}

}  // namespace

TEST_CASE("a wait gains what the device then waits for the host, not its own length", "[advice]") {
  const Advice advice = advise(
      loop_of([](TimelineBuilder& build, std::int64_t at) { waiting_step(build, at, "cudaStreamSynchronize"); }));
  CHECK(advice.steps == 9);  // twelve without the first quarter
  CHECK(advice.step_ns == Approx(kStepNs).epsilon(0.02));
  const AdviceFinding* const finding = found(advice, AdviceRule::kImplicitSynchronization);
  REQUIRE(finding != nullptr);
  // The second kernel begins 207 us after the first one ended. The wait lasts for 382 us.
  CHECK(finding->gain_ns > 150 * kUs);
  CHECK(finding->gain_ns < 240 * kUs);
  REQUIRE(!finding->evidence.empty());
  CHECK(finding->evidence.front().what == "cudaStreamSynchronize");
  CHECK(finding->evidence.front().where == "step");
  CHECK(finding->evidence.front().count == 1);
  CHECK(finding->evidence.front().time_ns == 382 * kUs);
  CHECK(finding->range == "step");
  CHECK(&advice.findings.front() == finding);
}

TEST_CASE("a wait inside of cudaFree counts as an allocation", "[advice]") {
  const Advice advice =
      advise(loop_of([](TimelineBuilder& build, std::int64_t at) { waiting_step(build, at, "cudaFree"); }));
  CHECK(found(advice, AdviceRule::kImplicitSynchronization) == nullptr);
  const AdviceFinding* const finding = found(advice, AdviceRule::kDeviceAllocation);
  REQUIRE(finding != nullptr);
  CHECK(finding->evidence.front().what == "cudaFree");
  CHECK(finding->gain_ns > 150 * kUs);
}

TEST_CASE("a wait that costs the device nothing is no finding", "[advice]") {
  const Advice advice = advise(loop_of([](TimelineBuilder& build, std::int64_t at) {
    build.launch_call("cudaLaunchKernel", at + 5 * kUs, at + 10 * kUs).kernel(at + 12 * kUs, at + 500 * kUs, "first");
    build.launch_call("cudaLaunchKernel", at + 15 * kUs, at + 20 * kUs)
        .kernel(at + 501 * kUs, at + 1011 * kUs, "second");
    build.call("cudaEventSynchronize", at + 30 * kUs, at + 505 * kUs);  // the first one; the second one runs
  }));
  CHECK(advice.findings.empty());
  CHECK(advice.bound == AdviceBound::kDevice);
  CHECK(advice.verdict.find("nothing to gain above 1.0 % was found") != std::string::npos);
}

TEST_CASE("findings below the least gain are left out", "[advice]") {
  const auto timeline =
      loop_of([](TimelineBuilder& build, std::int64_t at) { waiting_step(build, at, "cudaStreamSynchronize"); });
  AdviceOptions options;
  options.least_gain_permille = 500;
  CHECK(advise(timeline, options).findings.empty());
}

TEST_CASE("a wait for data gains what the device waits for it", "[advice]") {
  const auto with_loader = [](std::int64_t kernel_us) {
    return loop_of(
        [kernel_us](TimelineBuilder& build, std::int64_t at) {
          build.range("load_batch", at, at + 600 * kUs);
          build.launch_call("cudaLaunchKernel", at + 605 * kUs, at + 610 * kUs)
              .kernel(at + 612 * kUs, at + (612 + kernel_us) * kUs, "work");
        },
        100);
  };
  const Advice waits = advise(with_loader(380));
  REQUIRE(found(waits, AdviceRule::kDataWait) != nullptr);
  CHECK(found(waits, AdviceRule::kDataWait)->range == "step/load_batch");
  CHECK(found(waits, AdviceRule::kDataWait)->gain_ns > 500 * kUs);
  CHECK(found(waits, AdviceRule::kDataWait)->gain_ns <= 600 * kUs);
  // The device has work for the whole step, but for the first one.
  CHECK(found(advise(with_loader(999)), AdviceRule::kDataWait) == nullptr);
}

TEST_CASE("what only the first quarter of the steps waits for is no gain", "[advice]") {
  // Twelve steps, of which some load for half of their time; in the others the device has enough to do.
  const auto with_loads = [](const std::function<bool(int)>& loads) {
    int step = 0;
    return advise(loop_of([&loads, step](TimelineBuilder& build, std::int64_t at) mutable {
      const std::int64_t load_us = loads(step++) ? 500 : 20;
      build.range("load_batch", at, at + load_us * kUs);
      build.launch_call("cudaLaunchKernel", at + (load_us + 5) * kUs, at + (load_us + 10) * kUs)
          .kernel(at + (load_us + 12) * kUs, at + 995 * kUs, "work");
    }));
  };
  CHECK(found(with_loads([](int step) { return step < 3; }), AdviceRule::kDataWait) == nullptr);
  const Advice third = with_loads([](int step) { return step % 3 == 0; });
  REQUIRE(found(third, AdviceRule::kDataWait) != nullptr);
  // Of nine steps that count, three load for 500 us.
  CHECK(found(third, AdviceRule::kDataWait)->gain_ns == Approx(500 * kUs / 3).epsilon(0.1));
}

TEST_CASE("without steps, what comes before the first launch is no wait", "[advice]") {
  const auto with_load = [](std::int64_t load_at_us) {
    TimelineBuilder build;
    build.range("load_batch", load_at_us * kUs, (load_at_us + 400) * kUs);
    for (std::int64_t kernel_us : {500, 1500}) {
      build.launch_call("cudaLaunchKernel", kernel_us * kUs, (kernel_us + 5) * kUs)
          .kernel((kernel_us + 7) * kUs, (kernel_us + 500) * kUs, "work");
    }
    return advise(build.build());
  };
  CHECK(found(with_load(50), AdviceRule::kDataWait) == nullptr);
  CHECK(found(with_load(1050), AdviceRule::kDataWait) != nullptr);
}

TEST_CASE("a host that launches late is told of what it does with a value that it reads", "[advice]") {
  // The device is idle between any two kernels, and so the wait itself is short.
  const auto with_use = [](std::int64_t use_us) {
    return advise(loop_of([use_us](TimelineBuilder& build, std::int64_t at) {
      const std::int64_t log = at + (980 - use_us) * kUs;
      for (std::int64_t launch = at + 5 * kUs; launch + 60 * kUs < log; launch += 60 * kUs)
        build.launch_call("cudaLaunchKernel", launch, launch + 5 * kUs)
            .kernel(launch + 7 * kUs, launch + 30 * kUs, "work");
      build.range("log", log, at + 995 * kUs);
      build.launch_call("cudaMemcpy", log + 2 * kUs, log + 12 * kUs).memcpy(log + 8 * kUs, log + 10 * kUs, 4, 2);
    }));
  };
  CHECK(found(with_use(20), AdviceRule::kImplicitSynchronization) == nullptr);
  const Advice advice = with_use(300);
  const AdviceFinding* const finding = found(advice, AdviceRule::kImplicitSynchronization);
  REQUIRE(finding != nullptr);
  CHECK(finding->gain_ns > 250 * kUs);
  CHECK(finding->gain_ns < 320 * kUs);
}

TEST_CASE("handing over a batch that is there is no wait for data", "[advice]") {
  const auto with_loader = [](std::int64_t load_us) {
    return advise(loop_of([load_us](TimelineBuilder& build, std::int64_t at) {
      build.range("load_batch", at, at + load_us * kUs);
      build.launch_call("cudaLaunchKernel", at + (load_us + 5) * kUs, at + (load_us + 10) * kUs)
          .kernel(at + (load_us + 12) * kUs, at + 995 * kUs, "work");
    }));
  };
  CHECK(found(with_loader(190), AdviceRule::kDataWait) == nullptr);
  CHECK(found(with_loader(210), AdviceRule::kDataWait) != nullptr);
}

TEST_CASE("memory that only the first steps allocate is no fault", "[advice]") {
  const auto frees_until = [](int last) {
    int step = 0;
    return advise(loop_of([last, step](TimelineBuilder& build, std::int64_t at) mutable {
      waiting_step(build, at, step++ <= last ? "cudaFree" : "cudaEventQuery");
    }));
  };
  CHECK(found(frees_until(2), AdviceRule::kDeviceAllocation) == nullptr);
  CHECK(found(frees_until(3), AdviceRule::kDeviceAllocation) != nullptr);
}

TEST_CASE("a host that launches late because it waits for data is told of the data first", "[advice]") {
  // 400 us of input; then the host launches five kernels, 140 us apart, that take the device 100 us each. With faster
  // launches the input would be hidden, too: that alone gains more than the input.
  const Advice advice = advise(loop_of([](TimelineBuilder& build, std::int64_t at) {
    build.range("load_batch", at, at + 400 * kUs);
    for (std::int64_t launch = 410; launch <= 970; launch += 140)
      build.launch_call("cudaLaunchKernel", at + launch * kUs, at + (launch + 5) * kUs)
          .kernel(at + (launch + 7) * kUs, at + (launch + 107) * kUs, "work");
  }));
  REQUIRE(advice.findings.size() == 2);
  const AdviceFinding &data = advice.findings[0], &launches = advice.findings[1];
  CHECK(data.rule == AdviceRule::kDataWait);
  CHECK(data.own_gain_ns == data.gain_ns);
  CHECK(launches.rule == AdviceRule::kLaunchBound);
  CHECK(launches.gain_ns > data.gain_ns);
  CHECK(launches.own_gain_ns < data.gain_ns);
}

TEST_CASE("what each step begins with is its input where no range says so", "[advice]") {
  // 400 us of the host, then a kernel of 500 us.
  const auto judged = [](const char* name, int every, bool launches) {
    int step = 0;
    return advise(loop_of([&](TimelineBuilder& build, std::int64_t at) {
      if (step++ % every == 0) build.range(name, at + kUs, at + 401 * kUs);
      if (launches)
        build.launch_call("cudaLaunchKernel", at + 10 * kUs, at + 15 * kUs)
            .kernel(at + 17 * kUs, at + 20 * kUs, "small");
      build.launch_call("cudaLaunchKernel", at + 410 * kUs, at + 415 * kUs)
          .kernel(at + 417 * kUs, at + 990 * kUs, "work");
    }));
  };
  const Advice advice = judged("leer_lote", 1, false);
  const AdviceFinding* const data = found(advice, AdviceRule::kDataWait);
  REQUIRE(data != nullptr);
  CHECK(data->range == "step/leer_lote");
  CHECK(data->gain_ns > 300 * kUs);
  CHECK(data->gain_ns <= 400 * kUs);
  // In half of the steps; with a launch in it; of another part.
  CHECK(found(judged("leer_lote", 2, false), AdviceRule::kDataWait) == nullptr);
  CHECK(found(judged("leer_lote", 1, true), AdviceRule::kDataWait) == nullptr);
  CHECK(found(judged("zero_grad", 1, false), AdviceRule::kDataWait) == nullptr);
}

TEST_CASE("norms and small kernels between elementwise ones do not end a chain", "[advice]") {
  const auto judged = [](const char* between) {
    return advise(loop_of([&](TimelineBuilder& build, std::int64_t at) {
      const char* const names[] = {"vectorized_elementwise_kernel<mul>", between, "vectorized_elementwise_kernel<add>",
                                   "ampere_sgemm_128x64_tn"};
      for (int i = 0; i < 4; ++i)
        build.launch_call("cudaLaunchKernel", at + i * 2 * kUs, at + (i * 2 + 1) * kUs)
            .kernel(at + (20 + i * 240) * kUs, at + (260 + i * 240) * kUs, names[i]);
      build.call("cudaDeviceSynchronize", at + 15 * kUs, at + 985 * kUs);
    }));
  };
  const Advice norm = judged("vectorized_layer_norm_kernel");
  const AdviceFinding* const chain = found(norm, AdviceRule::kElementwiseChain);
  REQUIRE(chain != nullptr);
  CHECK(chain->gain_ns == Approx(480 * kUs).epsilon(0.05));  // all but one of three
  CHECK(found(judged("batch_norm_transform_input_kernel"), AdviceRule::kElementwiseChain) == nullptr);
  CHECK(found(judged("reduce_kernel<sum>"), AdviceRule::kElementwiseChain) == nullptr);
}

TEST_CASE("rules whose inputs are missing abstain and say what to record", "[advice]") {
  const Advice advice = advise(loop_of([](TimelineBuilder& build, std::int64_t at) {
    build.launch_call("cudaLaunchKernel", at + 5 * kUs, at + 10 * kUs)
        .kernel(at + 12 * kUs, at + 998 * kUs, "ampere_sgemm_128x64_tn");
  }));
  CHECK(abstains(advice, AdviceRule::kDataWait));
  CHECK(abstains(advice, AdviceRule::kClocks));
  CHECK(abstains(advice, AdviceRule::kAllocatorRetries));
  CHECK(abstains(advice, AdviceRule::kAllocatorFragmentation));
  CHECK(abstains(advice, AdviceRule::kLowOccupancy));
  CHECK(abstains(advice, AdviceRule::kProfilerOverhead));
  CHECK(abstains(advice, AdviceRule::kGemmAlignment));
  CHECK_FALSE(abstains(advice, AdviceRule::kRankImbalance));  // there are no other ranks
  for (const auto& one : advice.abstentions) CHECK(found(advice, one.rule) == nullptr);
}

TEST_CASE("nothing at all is judged of an empty input", "[advice]") {
  const Advice advice = advise(Timeline());
  CHECK(advice.findings.empty());
  CHECK(advice.step_ns == 0);
  CHECK(advice.verdict.rfind("Cannot tell", 0) == 0);
}

TEST_CASE("without steps all of the recording is judged", "[advice]") {
  TimelineBuilder build;
  for (int i = 0; i < 12; ++i) waiting_step(build, i * kStepNs, "cudaStreamSynchronize");
  const Advice advice = advise(build.build());
  CHECK(advice.steps == 0);
  const AdviceFinding* const finding = found(advice, AdviceRule::kImplicitSynchronization);
  REQUIRE(finding != nullptr);
  CHECK(finding->gain_ns > 11 * 150 * kUs);
  CHECK(finding->evidence.front().count == 12);
}

TEST_CASE("every rule has a name of its own", "[advice]") {
  for (std::size_t i = 0; i < rangefinder::kAdviceRules; ++i)
    for (std::size_t j = 0; j < i; ++j)
      CHECK(std::string(to_string(static_cast<AdviceRule>(i))) != to_string(static_cast<AdviceRule>(j)));
}
