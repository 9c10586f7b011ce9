// SPDX-License-Identifier: MIT
#include "analysis/running_time.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using rangefinder::testing::below;
using rangefinder::testing::TimelineBuilder;

namespace {

/// Ranges that nest on three threads, and work of each at any time, on several streams.
Timeline random_nesting(std::mt19937_64& random) {
  TimelineBuilder builder;
  for (std::int64_t thread = 1; thread <= 3; ++thread) {
    builder.on_thread(thread);
    std::vector<std::int64_t> ends{1'000};
    for (std::int64_t now = 0; now < 1'000; now += 1 + static_cast<std::int64_t>(below(random, 60))) {
      while (ends.size() > 1 && ends.back() <= now) ends.pop_back();
      const std::int64_t end = now + static_cast<std::int64_t>(below(random, ends.back() - now + 1));
      builder.range("r" + std::to_string(below(random, 4)), now, end);
      ends.push_back(end);
      for (std::uint64_t works = below(random, 3); works > 0; --works) {
        const auto begin = static_cast<std::int64_t>(below(random, 900));
        builder.on_stream(7 + static_cast<std::int64_t>(below(random, 3))).launch(now);
        builder.kernel(begin, begin + static_cast<std::int64_t>(below(random, 100)));
      }
    }
  }
  return builder.build();
}

bool is_inside(const Projection& projection, RangeIndex range, RangeIndex around) {
  for (; range != kNone; range = projection.parent[range])
    if (range == around) return true;
  return false;
}

std::int64_t slow_running(const Timeline& timeline, const Projection& projection, RangeIndex range,
                          std::span<const ActivityIndex> activities) {
  std::vector<bool> running(1'001);
  for (const ActivityIndex row : activities) {
    const std::uint32_t owner = projection.owner[row];
    if (owner >= timeline.ranges.size() || !is_inside(projection, RangeIndex(owner), range)) continue;
    for (std::int64_t at = timeline.activities.begin_ns[row]; at < timeline.activities.end_ns[row]; ++at)
      running[static_cast<std::size_t>(at)] = true;
  }
  return std::count(running.begin(), running.end(), true);
}

}  // namespace

TEST_CASE("the running time of every range is the union of all work inside it", "[analysis][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("running time"));
  for (int round = rangefinder::testing::repeats(60); round > 0; --round) {
    const Timeline timeline = random_nesting(random);
    const Projection projection = project(timeline, {});
    const RangeForest forest(projection);
    const CommonRange common(projection, forest);
    const auto length = [](std::int64_t begin_ns, std::int64_t end_ns) { return end_ns - begin_ns; };
    RunningIntegrals<std::int64_t> running(timeline, projection, forest, common);
    std::vector<ActivityIndex> activities(timeline.activities.size());
    std::iota(activities.begin(), activities.end(), ActivityIndex{0});
    std::shuffle(activities.begin(), activities.end(), random);
    // Of two devices: what one runs does not hide what the other does.
    const std::span<const ActivityIndex> all(activities);
    const std::size_t first = below(random, activities.size() + 1);
    running.add(all.first(first), length);
    running.add(all.subspan(first), length);
    const std::vector<std::int64_t> totals = running.take();
    REQUIRE(totals.size() == timeline.ranges.size());
    for (RangeIndex range{0}; range < totals.size(); ++range)
      CHECK(totals[range] == slow_running(timeline, projection, range, all.first(first)) +
                                 slow_running(timeline, projection, range, all.subspan(first)));
  }
}

TEST_CASE("the range around two is the innermost one", "[analysis][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("common range"));
  const Timeline timeline = random_nesting(random);
  const Projection projection = project(timeline, {});
  const RangeForest forest(projection);
  const CommonRange common(projection, forest);
  for (RangeIndex a{0}; a < timeline.ranges.size(); ++a)
    for (RangeIndex b{0}; b < timeline.ranges.size(); ++b) {
      RangeIndex expected = a;
      while (expected != kNone && !is_inside(projection, b, expected)) expected = projection.parent[expected];
      REQUIRE(common.of(a, b) == expected);
    }
}

TEST_CASE("a range is inside its like where one of its name is around it", "[analysis][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("inside their like"));
  const Timeline timeline = random_nesting(random);
  const Projection projection = project(timeline, {});
  const std::vector<bool> inside =
      inside_their_like(timeline.ranges.size(), RangeForest(projection),
                        [&](RangeIndex range) { return static_cast<std::uint64_t>(timeline.ranges.name[range]); });
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
    bool expected = false;
    for (RangeIndex up = projection.parent[range]; up != kNone; up = projection.parent[up])
      expected = expected || timeline.ranges.name[up] == timeline.ranges.name[range];
    REQUIRE(inside[range] == expected);
  }
}
