// SPDX-License-Identifier: MIT
#include "compare/run_speeds.hpp"

#include "compare/metric_changes.hpp"
#include "compare/synthetic_runs.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cstddef>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::compare;
using namespace rangefinder::testing;

namespace {

using Runs = std::vector<Run>;

constexpr std::size_t kComputing = 6, kPaths = 12;

/// Runs beside neighbours: half of them have one, who slows paths 6 to 11 down, which wait for memory, and the others
/// not.
struct Neighbourhood {
  std::vector<double> slow = {};  ///< of each run, how much longer paths 6 to 11 took

  Runs make(std::mt19937_64& random, std::size_t count, std::size_t changed = kPaths, double by = 1) {
    std::bernoulli_distribution has_neighbour(0.5);
    std::uniform_real_distribution<double> contention(1.2, 1.8), clock(0.96, 1.04);
    Runs runs;
    slow.clear();
    for (std::size_t run = 0; run < count; ++run) {
      slow.push_back(has_neighbour(random) ? contention(random) : 1);
      SyntheticRun one{.path_ns = std::vector<double>(kPaths, 1e6), .speed = clock(random)};
      for (std::size_t path = kComputing; path < kPaths; ++path) one.path_ns[path] *= slow.back();
      if (changed < kPaths) one.path_ns[changed] *= by;
      runs.push_back(one.make(random));
    }
    return runs;
  }
};

FiguresOfRuns times_of(const Runs& baseline, const Runs& candidate, const std::string& path) {
  const SideSeries before(baseline), after(candidate);
  return figures_of_runs(before.of("path:" + path), after.of("path:" + path), Statistic::fast());
}

}  // namespace

TEST_CASE("a path shares time with what is inside and around it", "[compare]") {
  CHECK(share_time("train", "train/forward"));
  CHECK(share_time("train/forward", "train"));
  CHECK(share_time("train", "train"));
  CHECK_FALSE(share_time("train", "training/forward"));
  CHECK_FALSE(share_time("train/forward", "train/backward"));
}

TEST_CASE("the speed of a run for a path is that of the paths like it", "[compare]") {
  std::mt19937_64 random(1);
  Neighbourhood before, after;
  const Runs baseline = before.make(random, 12), candidate = after.make(random, 12);
  const PathTimes times(baseline, candidate);
  const std::optional<RunSpeeds> memory = times.speeds_beside("train/p7", times_of(baseline, candidate, "train/p7"));
  const std::optional<RunSpeeds> computing = times.speeds_beside("train/p2", times_of(baseline, candidate, "train/p2"));
  REQUIRE(memory);
  REQUIRE(computing);
  CHECK(memory->paths == 4);
  for (std::size_t run = 0; run < baseline.size(); ++run) {
    // Both have the clock; the neighbour is in one of them.
    const double slower =
        memory->baseline[run] / memory->baseline[0] * computing->baseline[0] / computing->baseline[run];
    CHECK(slower == Approx(before.slow[run] / before.slow[0]).epsilon(0.02));
  }
  SECTION("without those that are left out, and what shares time with them") {
    const std::vector<std::string_view> without{"train/p6", "train/p8", "train/p9"};
    const auto fewer = times.speeds_beside("train/p7", times_of(baseline, candidate, "train/p7"), without);
    REQUIRE(fewer);
    CHECK(fewer->baseline != memory->baseline);
    const std::vector<std::string_view> all{"train"};
    CHECK_FALSE(times.speeds_beside("train/p7", times_of(baseline, candidate, "train/p7"), all));
  }
  SECTION("all paths are inside of the outermost") {
    CHECK_FALSE(times.speeds_beside("train", times_of(baseline, candidate, "train")));
    CHECK(times.speeds().paths == kPaths);
  }
  SECTION("few runs do not show which paths are alike") {
    const Runs few(baseline.begin(), baseline.begin() + 7);
    CHECK_FALSE(PathTimes(few, candidate).speeds_beside("train/p7", times_of(few, candidate, "train/p7")));
    CHECK(PathTimes(few, candidate).speeds().paths == kPaths);
  }
  SECTION("a side without runs tells nothing") {
    CHECK(PathTimes({}, candidate).speeds().paths == 0);
    CHECK_FALSE(PathTimes({}, candidate).speeds_beside("train/p7", times_of({}, candidate, "train/p7")));
  }
  SECTION("a path that one side has twice is not one that all runs have") {
    Runs twice = baseline, never = candidate;
    for (Run& run : twice) run.paths.back().name = "p0";
    for (Run& run : never) run.paths[1].name = "q";
    CHECK(PathTimes(twice, never).speeds().paths == kPaths - 2);
    CHECK(PathTimes(never, twice).speeds().paths == kPaths - 2);
    CHECK(PathTimes(twice, twice).speeds().paths == kPaths - 1);
  }
}

TEST_CASE("a path that became slower is found beside neighbours, and no other path is named", "[compare][property]") {
  std::mt19937_64 random(property_seed("neighbours"));
  Neighbourhood neighbours;
  int found = 0, wrong = 0, rounds = 0;
  for (; rounds < repeats(40); ++rounds) {
    const std::size_t changed = static_cast<std::size_t>(rounds) % kPaths;
    const Runs baseline = neighbours.make(random, 20);
    const Runs candidate = neighbours.make(random, 20, changed, rounds % 2 == 0 ? 1.03 : 1.5);
    const std::string slow = "path:train/p" + std::to_string(changed);
    bool is_other_named = false;
    for (const MetricChange& change :
         compare_metrics(baseline, candidate, metrics_of(std::span<const Run>(baseline))).changes) {
      if (change.metric.name == slow) found += change.verdict == Verdict::kWorse;
      if (change.metric.name != slow && change.metric.name.starts_with("path:train/"))
        is_other_named |= change.verdict == Verdict::kWorse || change.verdict == Verdict::kBetter;
    }
    wrong += is_other_named;
  }
  INFO(found << " found, " << wrong << " wrong of " << rounds);
  CHECK(found >= rounds * 9 / 10);
  // 1 % are promised, and where one side has more neighbours by chance, all paths that wait for memory are named at
  // once.
  CHECK(wrong <= rounds / 8);
}
