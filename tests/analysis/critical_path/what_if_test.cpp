// SPDX-License-Identifier: MIT
// What-ifs against a simulator that runs the changed program.
#include "analysis/critical_path/simulated_program.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <rangefinder/analysis/critical_path.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::Action;
using rangefinder::testing::below;
using rangefinder::testing::Changes;
using rangefinder::testing::DeviceDelays;
using rangefinder::testing::Simulated;

namespace {

/// The same changes, as a scale of segments.
CriticalScale scale_of(const Timeline& timeline, const Changes& changes) {
  return [&timeline, &changes](const CriticalSegment& segment) {
    if (segment.is_wait) return 1.0;
    if (segment.reason == CriticalReason::kComputation) return changes.kernel(segment.activity);
    if (segment.reason == CriticalReason::kLaunchLatency) return changes.launch;
    if (segment.reason == CriticalReason::kSynchronisation) return changes.return_time;
    if (segment.reason != CriticalReason::kHost || segment.call != kNone || segment.range == kNone) return 1.0;
    const std::string name(timeline.text(timeline.ranges.name[segment.range]));
    return name == "backward" ? 1.0 : changes.compute(name);
  };
}

void check_times(const CriticalPathGraph& graph, const Simulated& as_recorded, const Simulated& changed,
                 const CriticalScale& scale) {
  std::vector<CriticalWindow> windows = graph.steps();
  windows.push_back(graph.whole());
  const std::vector<std::int64_t> times = graph.times(windows, scale);
  REQUIRE(times.size() == changed.step_ns.size() + 1);
  for (std::size_t step = 0; step < changed.step_ns.size(); ++step) {
    INFO("step " << step << ", recorded " << as_recorded.step_ns[step]);
    CHECK(times[step] == changed.step_ns[step]);
  }
  CHECK(times.back() == changed.whole_ns);
}

}  // namespace

TEST_CASE("the schedule of a simulated program is worked out as it was recorded", "[critical_path][property]") {
  for (const std::uint64_t seed :
       rangefinder::testing::property_seeds("recorded schedule", rangefinder::testing::repeats(300))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const Simulated run = simulate(rangefinder::testing::random_program(random), {});
    const CriticalPathGraph graph(run.timeline);
    check_times(graph, run, run, {});
    check_times(graph, run, run, [](const CriticalSegment&) { return 1.0; });
  }
}

TEST_CASE("a what-if is what the changed program takes", "[critical_path][property]") {
  for (const std::uint64_t seed : rangefinder::testing::property_seeds("what-if", rangefinder::testing::repeats(500))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const std::vector<Action> program = rangefinder::testing::random_program(random);
    const DeviceDelays delays;
    const Simulated run = simulate(program, delays);
    const CriticalPathGraph graph(run.timeline);
    const std::size_t faster = below(random, run.timeline.activities.size());
    // Sections would be entered in one round of the loop alone.
    Changes one_twice_as_fast, kernels, host;
    one_twice_as_fast.kernel = [faster](std::size_t kernel) { return kernel == faster ? 0.5 : 1.0; };
    kernels.kernel = [](std::size_t kernel) { return kernel % 3 == 0 ? 0.0 : kernel % 3 == 1 ? 3.0 : 1.0; };
    host.compute = [](const std::string& range) { return range == "range 1" ? 0.0 : 1.0; };
    host.launch = 0.25;
    host.return_time = 0.5;
    for (const Changes& changes : {one_twice_as_fast, kernels, host}) {
      const Simulated changed = simulate(program, delays, changes);
      check_times(graph, run, changed, scale_of(run.timeline, changes));
    }
  }
}
