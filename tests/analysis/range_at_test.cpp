// SPDX-License-Identifier: MIT
#include "analysis/range_at.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <random>
#include <tuple>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using rangefinder::testing::TimelineBuilder;

namespace {

/// The definition, taken literally: of the ranges that contain the moment, the last in order of begin, longer, row.
RangeIndex slow_range_at(const Timeline& timeline, const HostMoment& moment) {
  const RangeTable& ranges = timeline.ranges;
  RangeIndex best = kNone;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    if (ranges.thread[range] != moment.thread || ranges.begin_ns[range] > moment.time_ns ||
        ranges.end_ns[range] <= moment.time_ns)
      continue;
    const auto rank = [&](RangeIndex r) { return std::tuple(ranges.begin_ns[r], -ranges.end_ns[r], r); };
    if (best == kNone || rank(best) < rank(range)) best = range;
  }
  return best;
}

constexpr ThreadIndex kFirst{0}, kSecond{1};

std::vector<std::uint32_t> numbers_of(const std::vector<RangeIndex>& ranges) { return {ranges.begin(), ranges.end()}; }

}  // namespace

TEST_CASE("the innermost open range is found for moments in any order", "[analysis]") {
  TimelineBuilder builder;
  builder.range("outer", 0, 100).range("inner", 10, 20).on_thread(2).range("other", 0, 50);
  const Timeline timeline = builder.build();
  const std::vector<HostMoment> moments{{kFirst, 50}, {kFirst, 15}, {kSecond, 15}, {kFirst, 100},
                                        {kNone, 15},  {kFirst, 20}, {kFirst, 10}};
  const std::vector<std::uint32_t> expected{0, 1, 2, kNone, kNone, 0, 1};
  CHECK(numbers_of(ranges_at(timeline, {}, moments)) == expected);
}

TEST_CASE("where ends are closed, a range is open at its end", "[analysis]") {
  const Timeline timeline = TimelineBuilder().range("a", 0, 10).closed_ends().build();
  CHECK(ranges_at(timeline, {}, std::vector<HostMoment>{{kFirst, 10}, {kFirst, 11}}) ==
        std::vector<RangeIndex>{RangeIndex{0}, kNone});
}

TEST_CASE("only ranges that take part are found", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("a", 0, 10)
                                .range("op", 2, 8)
                                .of_kind(RangeKind::kOperator)
                                .range("bookkeeping", 3, 7)
                                .flagged(kOwnerless)
                                .build();
  ProjectionOptions both;
  both.operators = true;
  CHECK(ranges_at(timeline, {}, std::vector<HostMoment>{{kFirst, 5}}) == std::vector{RangeIndex{0}});
  CHECK(ranges_at(timeline, both, std::vector<HostMoment>{{kFirst, 5}}) == std::vector{RangeIndex{1}});
}

TEST_CASE("ranges at moments are as the definition has them, however ranges overlap", "[analysis][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("range_at"));
  const auto number = [&](std::uint64_t limit) {
    return static_cast<std::int64_t>(rangefinder::testing::below(random, limit));
  };
  for (int round = 0; round < rangefinder::testing::repeats(200); ++round) {
    TimelineBuilder builder;
    for (int i = 0; i < 40; ++i) {
      const std::int64_t begin = number(100);
      builder.on_thread(1 + number(2)).range("r", begin, begin + number(40));
      if (number(3) == 0) builder.start_end();
    }
    const Timeline timeline = builder.build();
    std::vector<HostMoment> moments;
    for (int i = 0; i < 60; ++i) moments.push_back({static_cast<ThreadIndex>(number(2)), number(140)});
    const std::vector<RangeIndex> found = ranges_at(timeline, {}, moments);
    for (std::size_t i = 0; i < moments.size(); ++i) REQUIRE(found[i] == slow_range_at(timeline, moments[i]));
  }
}
