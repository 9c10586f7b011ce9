// SPDX-License-Identifier: MIT
#include "analysis/range_rollup.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

RangeGroups groups_of(const Timeline& timeline, GroupBy by, const Folding& folding = {}, Parts parts = {}) {
  return roll_up_ranges(timeline, project(timeline, {}), {}, by, folding, parts);
}

const RangeGroup& named(const Timeline& timeline, const RangeGroups& groups, std::string_view name) {
  for (const RangeGroup& group : groups.rows)
    if (timeline.text(group.name) == name) return group;
  FAIL("no group " << name);
  return groups.rows.front();
}

}  // namespace

TEST_CASE("a range's own time is without that of ranges inside", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("step", 0, 100)
                                .range("forward", 10, 60)
                                .range("layer", 20, 40)
                                .range("backward", 60, 90)
                                .on_thread(2)
                                .range("loader", 0, 50)
                                .build();
  for (const GroupBy by : {GroupBy::kName, GroupBy::kPath}) {
    const RangeGroups groups = groups_of(timeline, by);
    CHECK(named(timeline, groups, "step").host_self_ns == 20);
    CHECK(named(timeline, groups, "forward").host_self_ns == 30);
    CHECK(named(timeline, groups, "layer").host_self_ns == 20);
    CHECK(named(timeline, groups, "backward").host_self_ns == 30);
    CHECK(named(timeline, groups, "loader").host_self_ns == 50);
  }
  Folding folding;
  folding.most_depth = 1;  // the layer counts for the range in which it was cut
  const RangeGroups groups = groups_of(timeline, GroupBy::kPath, folding);
  CHECK(named(timeline, groups, "step").host_self_ns == 20);
  CHECK(named(timeline, groups, "forward").host_self_ns == 50);
}

TEST_CASE("own times add up to the time in ranges, in recursion too", "[analysis]") {
  const Timeline timeline =
      TimelineBuilder().range("f", 0, 100).range("f", 10, 80).range("g", 20, 50).range("f", 30, 40).build();
  const RangeGroups groups = groups_of(timeline, GroupBy::kName);
  CHECK(named(timeline, groups, "f").host_ns == 100);
  CHECK(named(timeline, groups, "f").host_self_ns == 80);
  CHECK(named(timeline, groups, "g").host_self_ns == 20);
}

TEST_CASE("least, median, p95 and most are of the instances", "[analysis]") {
  TimelineBuilder builder;
  for (std::int64_t i = 0; i < 100; ++i) builder.range("step", 1'000 * i, 1'000 * i + 100 - i);  // 1 to 100
  const Timeline timeline = builder.build();
  const RangeGroups groups = groups_of(timeline, GroupBy::kName);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].host_min_ns == 1);
  CHECK(groups[0].host_median_ns == 50);
  CHECK(groups[0].host_p95_ns == 95);
  CHECK(groups[0].host_max_ns == 100);
}

TEST_CASE("parts keep instances of one name apart, and leave some out", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("step", 0, 100)
                                .range("batch", 0, 30)
                                .launch(5)
                                .kernel(10, 20)
                                .range("batch", 30, 40)
                                .launch(32)
                                .kernel(33, 40)
                                .range("batch", 40, 90)
                                .build();
  const std::uint32_t parts[] = {kNone, 7, 8, 7};
  const RangeGroups groups = groups_of(timeline, GroupBy::kName, {}, parts);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].part == 7);
  CHECK(groups[0].count == 2);
  CHECK(groups[0].host_ns == 80);
  CHECK(groups[0].host_self_ns == 80);
  CHECK(groups[0].inclusive.gpu_busy_ns == 10);
  CHECK(groups[1].part == 8);
  CHECK(groups[1].host_ns == 10);
  CHECK(groups[1].inclusive.gpu_busy_ns == 7);
}

TEST_CASE("a range that is left out takes nothing from those around it twice", "[analysis]") {
  const Timeline timeline =
      TimelineBuilder().range("outer", 0, 100).range("middle", 10, 90).range("inner", 20, 80).build();
  const std::uint32_t parts[] = {0, kNone, 0};
  const RangeGroups groups = groups_of(timeline, GroupBy::kName, {}, parts);
  CHECK(named(timeline, groups, "outer").host_self_ns == 20);
  CHECK(named(timeline, groups, "inner").host_self_ns == 60);
}
