// SPDX-License-Identifier: MIT
#include "analysis/nsight/ranges.hpp"

#include "analysis/nsight/slow_nsight.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

using namespace rangefinder;
using namespace rangefinder::analysis::nsight;
using rangefinder::testing::change_last;
using rangefinder::testing::TimelineBuilder;

namespace {
std::string name_of(const Timeline& timeline, RangeIndex range) {
  return std::string(timeline.text(timeline.ranges.name[range]));
}
}  // namespace

TEST_CASE("ranges are ordered by begin, longest first, then by id", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("inner", 10, 20)
                                .range("later", 30, 40)
                                .range("outer", 10, 50)
                                .range("twin", 10, 20)
                                .build();
  std::string order;
  for (const RangeIndex range : choose_ranges(timeline, RangeChoice::kAll)) order += name_of(timeline, range) + " ";
  CHECK(order == "outer inner twin later ");
}

TEST_CASE("what may launch is on a known thread and ends there", "[analysis]") {
  TimelineBuilder builder;
  builder.range("plain", 0, 1).range("startend", 0, 1).start_end();
  builder.range("elsewhere", 0, 1).start_end().ended_on(2).range("ownerless", 0, 1).flagged(kOwnerless);
  builder.range("operator", 0, 1).of_kind(RangeKind::kOperator);
  change_last(builder.range("threadless", 0, 1).timeline().ranges, [&](auto& changed) { changed.thread = kNone; });
  const Timeline timeline = builder.build();
  CHECK(choose_ranges(timeline, RangeChoice::kAll).size() == 5);
  CHECK(choose_ranges(timeline, RangeChoice::kPushPop).size() == 3);
  CHECK(choose_ranges(timeline, RangeChoice::kStartEnd).size() == 2);
  CHECK(choose_ranges(timeline, RangeChoice::kLaunching).size() == 2);
}

TEST_CASE("a range's id is its row in the input, or its position", "[analysis]") {
  const Timeline timeline = TimelineBuilder().range("a", 0, 1).range("b", 0, 1).range_source_row(17).build();
  CHECK(range_id(timeline, RangeIndex{0}) == 1);
  CHECK(range_id(timeline, RangeIndex{1}) == 17);
}

TEST_CASE("threads nest apart from each other", "[analysis]") {
  const Timeline timeline =
      TimelineBuilder().range("outer", 0, 100).range("inner", 10, 20).on_thread(2).range("alone", 11, 19).build();
  const std::vector<RangeIndex> ranges = choose_ranges(timeline, RangeChoice::kAll);
  const Nesting nesting = nest(timeline, ranges);
  CHECK(nesting.parent == std::vector<std::uint32_t>{kNone, 0, kNone});
  CHECK(nesting.level == std::vector<std::uint32_t>{0, 1, 0});
  CHECK(nesting.children == std::vector<std::uint32_t>{1, 0, 0});
}

TEST_CASE("ranges of the same interval have no level, nor has what is inside them", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("step", 0, 100)
                                .range("twin", 10, 50)
                                .range("twin2", 10, 50)
                                .range("child", 20, 30)
                                .build();
  const std::vector<RangeIndex> ranges = choose_ranges(timeline, RangeChoice::kAll);
  const Nesting nesting = nest(timeline, ranges);
  CHECK(nesting.level == std::vector<std::uint32_t>{0, kNone, kNone, kNone});
  CHECK(nesting.children == std::vector<std::uint32_t>{0, 2, 1, 0});
  const std::vector<PushPopRow> rows = pushpop_trace(timeline);
  REQUIRE(rows.size() == 1);
  CHECK(name_of(timeline, rows[0].range) == "step");
  CHECK(rows[0].children == 0);
}

TEST_CASE("the time of children is that of the direct ones", "[analysis]") {
  const Timeline timeline =
      TimelineBuilder().range("a", 0, 100).range("b", 10, 60).range("c", 20, 30).range("d", 70, 75).build();
  const std::vector<PushPopRow> rows = pushpop_trace(timeline);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].child_ns == 55);
  CHECK(rows[1].child_ns == 10);
  CHECK(rows[2].level == 2);
  CHECK(rows[2].parent == 1);
  CHECK(rows[3].parent == 0);
}

TEST_CASE("a sum groups by name and style", "[analysis]") {
  const Timeline timeline =
      TimelineBuilder().range("a", 0, 10).range("a", 20, 50).range("a", 0, 5).start_end().range("z", 0, 40).build();
  RangeSums sums(timeline, RangeChoice::kAll);
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) sums.add(range);
  const std::vector<RangeSumRow> rows = sums.rows();
  const Labels& labels = sums.labels();
  REQUIRE(rows.size() == 3);
  CHECK(labels.text(rows[0].name) == "a");  // ties by name
  CHECK(rows[0].duration.total_saturated() == 40);
  CHECK(rows[0].duration.count == 2);
  CHECK(labels.text(rows[1].name) == "z");
  CHECK(rows[2].style == RangeStyle::kStartEnd);
}

TEST_CASE("deep nesting costs no stack and little time", "[analysis]") {
  TimelineBuilder builder;
  constexpr std::int64_t kDepth = 200'000;
  for (std::int64_t i = 0; i < kDepth; ++i) builder.range("r", i, 2 * kDepth - i);
  const std::vector<PushPopRow> rows = pushpop_trace(builder.build());
  REQUIRE(rows.size() == kDepth);
  CHECK(rows.back().level == kDepth - 1);
}
