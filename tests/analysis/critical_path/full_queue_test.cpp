// SPDX-License-Identifier: MIT
// Launch calls that wait for room in a full launch queue.
#include "analysis/critical_path/check_path.hpp"
#include "analysis/critical_path/simulated_program.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <rangefinder/analysis/critical_path.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::Action;
using rangefinder::testing::below;
using rangefinder::testing::Changes;
using rangefinder::testing::check_path;
using rangefinder::testing::DeviceDelays;
using rangefinder::testing::Simulated;

namespace {

/// Fewer calls that waited may not be told from calls that took long by chance.
constexpr std::size_t kEnough = 32;

double half_of_kernels(const CriticalSegment& segment) {
  return !segment.is_wait && segment.reason == CriticalReason::kComputation ? 0.5 : 1.0;
}

Changes twice_as_fast() {
  Changes changes;
  changes.kernel = [](std::size_t) { return 0.5; };
  return changes;
}

/// Calls that wait for room.
std::set<CallIndex> waiting_calls(const CriticalPathGraph& graph) {
  std::set<CallIndex> calls;
  (void)graph.times({graph.whole()}, [&](const CriticalSegment& segment) {
    if (segment.is_wait && segment.reason == CriticalReason::kLaunchQueue) calls.insert(segment.call);
    return 1.0;
  });
  return calls;
}

std::vector<CriticalWindow> all_windows(const CriticalPathGraph& graph) {
  std::vector<CriticalWindow> windows = graph.steps();
  windows.push_back(graph.whole());
  return windows;
}

void check_as_recorded(const CriticalPathGraph& graph, const Simulated& run) {
  const std::vector<CriticalWindow> windows = all_windows(graph);
  const std::vector<std::int64_t> recorded = graph.times(windows, [](const CriticalSegment&) { return 1.0; });
  REQUIRE(recorded.size() == run.step_ns.size() + 1);
  for (std::size_t step = 0; step < run.step_ns.size(); ++step) CHECK(recorded[step] == run.step_ns[step]);
  CHECK(recorded.back() == run.whole_ns);
  const auto paths = graph.paths(windows);
  for (std::size_t i = 0; i < paths.size(); ++i) check_path(paths[i], windows[i]);
}

/// How what-ifs compare with what was simulated.
struct Compared {
  std::size_t steps = 0;
  std::size_t exact = 0;
};

/// Within one percent. Waits that are too few to be told from chance stay in.
void check_what_if(const std::vector<Action>& program, const DeviceDelays& delays, Compared& compared) {
  const Simulated run = simulate(program, delays), changed = simulate(program, delays, twice_as_fast());
  const CriticalPathGraph graph(run.timeline);
  check_as_recorded(graph, run);
  const std::set<CallIndex> waiting = waiting_calls(graph);
  std::size_t told = 0, not_told = 0;
  std::int64_t not_told_ns = 0;
  for (const auto& [call, waited_ns] : run.held_up) {
    told += waiting.contains(call) ? 1 : 0;
    if (waiting.contains(call)) continue;
    ++not_told;
    not_told_ns += waited_ns;
  }
  CHECK(told == waiting.size());
  CHECK(not_told < kEnough);
  const std::vector<std::int64_t> times = graph.times(graph.steps(), half_of_kernels);
  for (std::size_t step = 0; step < times.size(); ++step) {
    const std::int64_t wanted = changed.step_ns[step];
    INFO("queue of " << delays.queue << (delays.queue_of_device ? " shared" : "") << ", " << run.held_up.size()
                     << " held up, " << told << " found, step " << step << " of " << run.step_ns[step]);
    ++compared.steps;
    compared.exact += times[step] == wanted ? 1 : 0;
    CHECK(std::abs(times[step] - wanted) <= wanted / 100 + not_told_ns);
  }
}

/// Launches of kernels that take equally long, on one stream.
std::vector<Action> equal_launches(std::size_t count, std::int64_t call_ns, std::int64_t kernel_ns) {
  return std::vector<Action>(
      count, {.what = Action::What::kKernel, .stream = 1, .duration_ns = kernel_ns, .call_ns = call_ns});
}

}  // namespace

TEST_CASE("launches that find the queue full wait for the work whose place they take", "[critical_path]") {
  DeviceDelays delays;
  delays.queue = 300;
  delays.taken_at_begin = GENERATE(false, true);
  std::vector<Action> program = equal_launches(1000, 5000, 20'000);
  program.push_back({.what = Action::What::kStepEnd});
  const Simulated run = simulate(program, delays), changed = simulate(program, delays, twice_as_fast());
  REQUIRE(run.held_up.size() > 500);
  const CriticalPathGraph graph(run.timeline);
  check_as_recorded(graph, run);
  CHECK(waiting_calls(graph).size() == run.held_up.size());
  CHECK(graph.times({graph.whole()}, half_of_kernels) == std::vector<std::int64_t>{changed.whole_ns});
  // Without kernels' time the host launches as fast as it can.
  const auto free = [](const CriticalSegment& one) { return one.reason == CriticalReason::kComputation ? 0.0 : 1.0; };
  const std::int64_t launched_ns = 999 * 5000;
  CHECK(graph.times({graph.whole()}, free).front() <= launched_ns + 2 * delays.launch_ns);
}

TEST_CASE("launch calls that took long for another reason wait for nothing", "[critical_path]") {
  DeviceDelays delays;
  std::vector<Action> program;
  SECTION("the queue is short") {
    delays.queue = 200;
    program = equal_launches(1000, 5000, 20'000);
  }
  SECTION("the last ones of many launches take longer than the others") {
    program = equal_launches(600, 5000, 20'000);
    const std::int64_t call_ns = GENERATE(12'000, 25'000);  // shorter and longer than kernels
    for (std::size_t last = 540; last < program.size(); ++last) program[last].call_ns = call_ns;
  }
  SECTION("one in eleven takes long wherever the host is") {
    program = equal_launches(3000, 5000, 4100);
    program.insert(program.begin(),
                   {.what = Action::What::kKernel, .stream = 1, .duration_ns = 2'000'000, .call_ns = 5000});
    for (std::size_t one = 5; one < program.size(); one += 11) program[one].call_ns = 25'000;
  }
  const Simulated run = simulate(program, delays);
  const CriticalPathGraph graph(run.timeline);
  check_as_recorded(graph, run);
  CHECK(waiting_calls(graph).empty());
}

TEST_CASE("with a full launch queue a what-if is what the changed program takes", "[critical_path][property]") {
  Compared compared;
  for (const std::uint64_t seed :
       rangefinder::testing::property_seeds("full launch queue", rangefinder::testing::repeats(500))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const std::vector<Action> program = rangefinder::testing::random_launches(random);
    DeviceDelays delays;
    delays.queue = 256 + below(random, 769);
    delays.taken_at_begin = below(random, 2) == 0;
    check_what_if(program, delays, compared);
  }
  std::printf("%zu of %zu steps to the nanosecond\n", compared.exact, compared.steps);
  CHECK(compared.exact * 10 >= compared.steps * 9);
}

TEST_CASE("streams that share a full launch queue are seen together", "[critical_path][property]") {
  Compared compared;
  for (const std::uint64_t seed :
       rangefinder::testing::property_seeds("shared launch queue", rangefinder::testing::repeats(200))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const std::vector<Action> program = rangefinder::testing::random_launches(random);
    DeviceDelays delays;
    delays.queue = 256 + below(random, 769);
    delays.queue_of_device = true;
    check_what_if(program, delays, compared);
  }
  std::printf("%zu of %zu steps to the nanosecond\n", compared.exact, compared.steps);
}
