// SPDX-License-Identifier: MIT
#include "analysis/backward_times.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

TEST_CASE("a node's host time is that of the range whose forward pass made it", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 1000).range("layer0", 10, 50).range("layer1", 50, 90).range("backward", 100, 900);
  builder.on_thread(9).engine();
  builder.node(110, 200, 3, 1, 60).node(210, 300, 2, 1, 20).node(310, 330, 1, 1, 5);  // layer1, layer0, step
  builder.gradient_accumulation(340, 350).node(360, 380, 4, 1, 60).made_elsewhere().node(390, 400, 5, 1, 2000);
  const BackwardTimes times = backward_times(builder.build(), {});
  CHECK(times.ranges[0].ns == 20);
  CHECK(times.ranges[1].ns == 90);
  CHECK(times.ranges[2].ns == 90);
  CHECK(times.ranges[2].nodes == 1);
  CHECK(times.ranges[3].ns == 0);
  CHECK(times.accumulation.ns == 10);
  CHECK(times.unmatched.ns == 20);
  CHECK(times.outside.ns == 10);
  CHECK(times.total.ns == 240);
  CHECK(times.total.nodes == 6);
}

TEST_CASE("a node inside another is not counted twice", "[analysis]") {
  TimelineBuilder builder;
  builder.range("outer", 0, 50).range("inner", 10, 20);
  builder.on_thread(9).engine().node(100, 200, 2, 1, 5).node(120, 150, 1, 1, 15);
  const BackwardTimes times = backward_times(builder.build(), {});
  CHECK(times.ranges[0].ns == 70);
  CHECK(times.ranges[1].ns == 30);
  CHECK(times.total.ns == 100);
}

TEST_CASE("backward times where times are as far apart as a file can claim", "[analysis]") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(), kMost = -(kLeast + 1);
  TimelineBuilder builder;
  builder.range("layer", 0, 50).on_thread(9).engine();
  builder.node(kLeast, kMost, 2, 1, 5).node(0, kMost, 3, 1, 5).node(kMost, kLeast, 1, 1, kLeast);
  CHECK(backward_times(builder.build(), {}).total.nodes == 3);
}

TEST_CASE("ranges and the rest divide the time of nodes without remainder", "[analysis][property]") {
  for (const std::uint64_t seed : property_seeds("backward times", repeats(200))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    TimelineBuilder builder;
    for (int range = 0; range < 6; ++range) builder.range("r", range * 10, range * 10 + 5 + 5 * (range % 2));
    builder.on_thread(9).engine();
    std::vector<std::int64_t> ends{2000};
    std::vector<bool> busy(2000);
    for (std::int64_t now = 100; now < 1900; now += 1 + static_cast<std::int64_t>(below(random, 60))) {
      while (ends.size() > 1 && ends.back() <= now) ends.pop_back();
      const std::int64_t end =
          now + static_cast<std::int64_t>(below(random, static_cast<std::uint64_t>(ends.back() - now)));
      for (std::int64_t at = now; at < end; ++at) busy[static_cast<std::size_t>(at)] = true;
      if (below(random, 5) == 0)
        builder.gradient_accumulation(now, end);
      else
        builder.node(now, end, 7, 1, static_cast<std::int64_t>(below(random, 70)));
      if (below(random, 5) == 0) builder.made_elsewhere();
      ends.push_back(end);
    }
    const BackwardTimes times = backward_times(builder.build(), {});
    std::int64_t sum = times.accumulation.ns + times.unmatched.ns + times.outside.ns;
    for (const BackwardTimes::Own& own : times.ranges) {
      CHECK(own.ns >= 0);
      sum += own.ns;
    }
    CHECK(sum == times.total.ns);
    CHECK(times.total.ns == std::count(busy.begin(), busy.end(), true));
  }
}
