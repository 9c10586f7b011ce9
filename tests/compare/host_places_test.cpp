// SPDX-License-Identifier: MIT
#include "compare/host_places.hpp"

#include "analysis/range_at.hpp"
#include "compare/random_run.hpp"
#include "projection/project.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <cstdint>
#include <random>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::compare;
using rangefinder::testing::below;
using rangefinder::testing::TimelineBuilder;

namespace {

std::uint32_t place_at(std::span<const HostStretch> stretches, std::int64_t time_ns) {
  std::uint32_t found = kNone;
  for_each_place(stretches, time_ns, time_ns + 1,
                 [&](std::uint32_t place, std::int64_t, std::int64_t) { found = place; });
  return found;
}

}  // namespace

TEST_CASE("threads are in the innermost range that is open", "[compare][property]") {
  for (const std::uint64_t seed : rangefinder::testing::property_seeds("host places", 200)) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    TimelineBuilder builder;
    for (std::uint64_t i = below(random, 25); i > 0; --i) {
      const auto begin = static_cast<std::int64_t>(below(random, 60));
      builder.on_thread(static_cast<std::int64_t>(1 + below(random, 2)));
      builder.range("r" + std::to_string(below(random, 6)), begin,
                    begin + static_cast<std::int64_t>(below(random, 30)));
      if (below(random, 3) == 0) builder.start_end();
      if (below(random, 3) == 0) builder.of_kind(RangeKind::kOperator);
    }
    const Timeline timeline = builder.build();
    const PathNumbers paths(timeline, projection::project_owners(timeline, {}));
    const HostPlaces places(timeline, paths);
    for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
      std::vector<analysis::HostMoment> moments;
      for (std::int64_t time = 0; time < 95; ++time) moments.push_back({thread, time});
      ProjectionOptions operators;
      operators.annotations = false;
      operators.operators = true;
      const std::vector<RangeIndex> in_range = analysis::ranges_at(timeline, {}, moments);
      const std::vector<RangeIndex> in_operator = analysis::ranges_at(timeline, operators, moments);
      for (std::size_t i = 0; i < moments.size(); ++i) {
        INFO("at " << i);
        const std::uint32_t path = in_range[i] == kNone ? std::uint32_t{kNone} : paths.of_range[in_range[i]];
        REQUIRE(place_at(places.paths_of(thread), moments[i].time_ns) == path);
        const std::uint32_t name = in_operator[i] == kNone
                                       ? std::uint32_t{kNone}
                                       : static_cast<std::uint32_t>(timeline.ranges.name[in_operator[i]]);
        REQUIRE(place_at(places.operators_of(thread), moments[i].time_ns) == name);
      }
    }
  }
}

TEST_CASE("a stretch of time is divided into the places that a thread is in", "[compare]") {
  const std::vector<HostStretch> stretches{{10, 20, 1}, {20, 30, 2}, {40, 50, 3}};
  std::vector<HostStretch> found;
  for_each_place(stretches, 5, 45, [&](std::uint32_t place, std::int64_t begin, std::int64_t end) {
    found.push_back({begin, end, place});
  });
  REQUIRE(found.size() == 5);
  const std::uint32_t places[] = {kNone, 1, 2, kNone, 3};
  const std::int64_t ends[] = {10, 20, 30, 40, 45};
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].place == places[i]);
    CHECK(found[i].end_ns == ends[i]);
  }
  found.clear();
  for_each_place({}, 5, 45, [&](std::uint32_t place, std::int64_t begin, std::int64_t end) {
    found.push_back({begin, end, place});
  });
  REQUIRE(found.size() == 1);
  CHECK(found[0].place == kNone);
}
