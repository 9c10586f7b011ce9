// SPDX-License-Identifier: MIT
#include "projection/slow_projection.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/projection.hpp>

#include <string_view>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// A projection with its timeline. Checks the account of every timeline that it sees.
struct Projected {
  Timeline timeline;
  Projection projection;

  explicit Projected(TimelineBuilder& builder, const ProjectionOptions& options = {})
      : timeline(builder.build()), projection(project(timeline, options)) {
    require_sound_account(timeline, projection);
    require_equal(project_slowly(timeline, options), projection);
  }
  RangeIndex row(std::string_view name) const { return TimelineBuilder::range_named(timeline, name); }
  const DeviceFigures& exclusive(std::string_view name) const { return projection.exclusive[row(name)]; }
  const DeviceFigures& inclusive(std::string_view name) const { return projection.inclusive[row(name)]; }
  std::string_view parent(std::string_view name) const {
    const RangeIndex parent = projection.parent[row(name)];
    return parent == kNone ? "" : timeline.text(timeline.ranges.name[parent]);
  }
  std::string_view owner(std::size_t activity) const {
    switch (projection.owner[activity]) {
      case static_cast<std::uint32_t>(Unowned::kOutside):
        return "(outside)";
      case static_cast<std::uint32_t>(Unowned::kBefore):
        return "(before)";
      case static_cast<std::uint32_t>(Unowned::kUnknown):
        return "(unknown)";
      default:
        return timeline.text(timeline.ranges.name[projection.owner[activity]]);
    }
  }
  std::vector<StreamFigures> inclusive_rows(std::string_view name) const {
    const auto begin = projection.inclusive_streams.begin();
    return {begin + projection.inclusive_offset[row(name)], begin + projection.inclusive_offset[row(name) + 1]};
  }
  std::vector<StreamFigures> exclusive_rows(std::string_view name) const {
    const auto begin = projection.exclusive_streams.begin();
    return {begin + projection.exclusive_offset[row(name)], begin + projection.exclusive_offset[row(name) + 1]};
  }
};

}  // namespace

TEST_CASE("an empty timeline projects to nothing", "[projection]") {
  TimelineBuilder builder;
  const Projected p(builder);
  CHECK(p.projection.account.total.gpu_ops == 0);
  CHECK(p.projection.inclusive.empty());
  CHECK(p.projection.inclusive_offset == std::vector<std::uint32_t>{0});
}

TEST_CASE("the innermost range open at the launch owns the activity, whenever it runs", "[projection]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("forward", 10, 40).range("backward", 50, 90);
  builder.launch(20).kernel(500, 600).launch(60).kernel(25, 30).launch(45).kernel(700, 710);
  const Projected p(builder);
  CHECK(p.owner(0) == "forward");
  CHECK(p.owner(1) == "backward");
  CHECK(p.owner(2) == "step");
  CHECK(p.inclusive("step").gpu_ops == 3);
  CHECK(p.exclusive("step").gpu_ops == 1);
  CHECK(p.inclusive("forward").gpu_sum_ns == 100);
  CHECK(p.parent("forward") == "step");
  CHECK(p.parent("step") == "");
  CHECK(p.projection.depth[p.row("backward")] == 1);
}

TEST_CASE("every figure of a range", "[projection]") {
  TimelineBuilder builder;
  builder.range("outer", 0, 100).range("inner", 10, 50);
  builder.launch(20).kernel(30, 60).launch(25).memcpy(40, 50, 4096);
  builder.launch(60).memset(200, 210, 128);
  const Projected p(builder);
  const DeviceFigures& inner = p.inclusive("inner");
  CHECK(inner.gpu_ops == 2);
  CHECK(inner.gpu_sum_ns == 40);
  CHECK(inner.gpu_busy_ns == 30);
  CHECK(inner.first_ns == 30);
  CHECK(inner.last_ns == 60);
  CHECK(inner.gpu_span_ns() == 30);
  CHECK(inner.bytes == 4096);
  CHECK(inner.launch_delay_ns == 10 + 15);
  const DeviceFigures& outer = p.inclusive("outer");
  CHECK(outer.gpu_busy_ns == 40);
  CHECK(outer.gpu_span_ns() == 180);
  CHECK(outer.bytes == 4096 + 128);
  CHECK(outer.launch_delay_ns == 10 + 15 + 140);
  CHECK(p.exclusive("outer").bytes == 128);
}

TEST_CASE("busy time counts overlap once within a device and adds up over devices", "[projection]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100);
  builder.launch(10).kernel(10, 30);
  SECTION("disjoint streams add up") {
    builder.on_stream(8).launch(11).kernel(40, 50);
    const Projected p(builder);
    CHECK(p.inclusive("step").gpu_busy_ns == 30);
  }
  SECTION("overlapping streams of one device do not") {
    builder.on_stream(8).launch(11).kernel(20, 40);
    const Projected p(builder);
    CHECK(p.inclusive("step").gpu_busy_ns == 30);
    CHECK(p.inclusive("step").gpu_sum_ns == 40);
    CHECK(p.inclusive("step").any_busy_ns == 30);
  }
  SECTION("two devices are two, and one at a time for any_busy") {
    builder.on_device(1).launch(11).kernel(20, 40);
    const Projected p(builder);
    CHECK(p.inclusive("step").gpu_busy_ns == 40);
    CHECK(p.inclusive("step").any_busy_ns == 30);
  }
  SECTION("a device that comes back to an earlier time") {
    builder.on_stream(8).launch(11).kernel(50, 60).on_stream(7).launch(12).kernel(0, 55);
    const Projected p(builder);
    CHECK(p.inclusive("step").gpu_busy_ns == 60);
    CHECK(p.exclusive("step").gpu_busy_ns == 60);
  }
}

TEST_CASE("overlap between a range and the ranges inside it counts once in the outer one", "[projection]") {
  TimelineBuilder builder;
  builder.range("outer", 0, 100).range("a", 10, 20).range("b", 30, 40);
  builder.on_stream(7).launch(15).kernel(100, 200);
  builder.on_stream(8).launch(35).kernel(150, 250);
  builder.on_stream(9).launch(50).kernel(50, 120);
  const Projected p(builder);
  CHECK(p.inclusive("a").gpu_busy_ns == 100);
  CHECK(p.inclusive("b").gpu_busy_ns == 100);
  CHECK(p.exclusive("outer").gpu_busy_ns == 70);
  CHECK(p.inclusive("outer").gpu_busy_ns == 200);
}

TEST_CASE("rows per stream, by stream", "[projection]") {
  TimelineBuilder builder;
  builder.on_stream(7).on_stream(8).on_device(1).on_stream(7);
  builder.range("step", 0, 100).range("copy", 20, 30);
  builder.on_device(1).launch(5).kernel(300, 330);
  builder.on_device(0).on_stream(8).launch(25).memcpy(100, 120, 1).on_stream(7).launch(40).kernel(60, 70);
  const Projected p(builder);
  const auto rows = p.inclusive_rows("step");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].stream < rows[1].stream);
  CHECK(rows[1].stream < rows[2].stream);
  CHECK(rows[0].gpu_sum_ns == 10);
  CHECK(rows[1].gpu_sum_ns == 20);
  CHECK(rows[2].gpu_sum_ns == 30);
  CHECK(rows[2].first_ns == 300);
  CHECK(p.exclusive_rows("step").size() == 2);
  REQUIRE(p.exclusive_rows("copy").size() == 1);
  CHECK(p.exclusive_rows("copy")[0].range == p.row("copy"));
}

TEST_CASE("where ranges end", "[projection]") {
  TimelineBuilder builder;
  SECTION("half-open: the end belongs to what comes next") {
    builder.range("a", 0, 10).range("b", 10, 20).launch(10).kernel(30, 40).launch(20).kernel(40, 50);
    const Projected p(builder);
    CHECK(p.owner(0) == "b");
    CHECK(p.owner(1) == "(outside)");
    CHECK(p.inclusive("a").gpu_ops == 0);
  }
  SECTION("half-open: a range without length owns nothing") {
    builder.range("a", 0, 10).range("empty", 5, 5).launch(5).kernel(30, 40);
    const Projected p(builder);
    CHECK(p.owner(0) == "a");
    CHECK(p.parent("empty") == "a");
  }
  SECTION("closed: the end is inside, and siblings that touch both contain it") {
    builder.closed_ends().range("a", 0, 10).range("b", 10, 20).launch(10).kernel(30, 40).launch(20).kernel(40, 50);
    const Projected p(builder);
    CHECK(p.owner(0) == "b");
    CHECK(p.owner(1) == "b");
    CHECK(p.inclusive("a").gpu_ops == 1);
    CHECK(p.exclusive("a").gpu_ops == 0);
    CHECK(p.inclusive("b").gpu_ops == 2);
    CHECK(p.parent("b") == "");
  }
  SECTION("closed: a range without length owns what was launched at that time") {
    builder.closed_ends().range("a", 0, 10).range("empty", 5, 5).launch(5).kernel(30, 40).launch(6).kernel(40, 50);
    const Projected p(builder);
    CHECK(p.owner(0) == "empty");
    CHECK(p.owner(1) == "a");
    CHECK(p.inclusive("a").gpu_ops == 2);
  }
}

TEST_CASE("ties: the longer range is outside, and of two alike the later row is inside", "[projection]") {
  TimelineBuilder builder;
  builder.range("short", 0, 10).range("long", 0, 20).range("twin", 0, 10);
  builder.launch(5).kernel(30, 40);
  const Projected p(builder);
  CHECK(p.owner(0) == "twin");
  CHECK(p.parent("twin") == "short");
  CHECK(p.parent("short") == "long");
  CHECK(p.projection.depth[p.row("twin")] == 2);
  CHECK(p.inclusive("short").gpu_ops == 1);
}

TEST_CASE("scoped ranges that cross", "[projection]") {
  TimelineBuilder builder;
  builder.range("a", 0, 20).range("b", 10, 30);
  builder.launch(5).kernel(100, 110).launch(15).kernel(110, 120).launch(25).kernel(120, 130);
  const Projected p(builder);
  CHECK(p.owner(0) == "a");
  CHECK(p.owner(1) == "b");
  CHECK(p.owner(2) == "b");
  CHECK(p.inclusive("a").gpu_ops == 2);
  CHECK(p.inclusive("b").gpu_ops == 2);
  CHECK(p.parent("b") == "");
}

TEST_CASE("start/end ranges own what their thread launched while they were open", "[projection]") {
  TimelineBuilder builder;
  SECTION("ended on another thread") {
    builder.on_thread(1).range("request", 0, 50).start_end().ended_on(2);
    builder.launch(10).kernel(100, 110).on_thread(2).launch(20).kernel(110, 120);
    const Projected p(builder);
    CHECK(p.owner(0) == "request");
    CHECK(p.owner(1) == "(outside)");
  }
  SECTION("overlapping each other and scoped ranges") {
    builder.range("step", 0, 100).range("r1", 10, 60).start_end().range("r2", 20, 80).start_end().range("op", 30, 40);
    builder.launch(35).kernel(200, 210).launch(50).kernel(210, 220).launch(70).kernel(220, 230).launch(90).kernel(230,
                                                                                                                  240);
    const Projected p(builder);
    CHECK(p.owner(0) == "op");
    CHECK(p.owner(1) == "r2");
    CHECK(p.owner(2) == "r2");
    CHECK(p.owner(3) == "step");
    CHECK(p.inclusive("r1").gpu_ops == 2);
    CHECK(p.inclusive("r2").gpu_ops == 3);
    CHECK(p.inclusive("step").gpu_ops == 4);
    CHECK(p.exclusive("r1").gpu_ops == 0);
    CHECK(p.parent("op") == "r2");
    CHECK(p.parent("r1") == "step");
  }
  SECTION("one that outlives the range it began in") {
    builder.range("step", 0, 30).range("request", 10, 60).start_end();
    builder.launch(20).kernel(100, 110).launch(40).kernel(110, 120);
    const Projected p(builder);
    CHECK(p.inclusive("step").gpu_ops == 1);
    CHECK(p.inclusive("request").gpu_ops == 2);
    CHECK(p.exclusive("request").gpu_ops == 2);
    CHECK(p.parent("request") == "");
  }
}

TEST_CASE("a scoped range that ended on another thread need not nest", "[projection]") {
  TimelineBuilder builder;
  builder.on_thread(1).range("p", 0, 20).ended_on(2).range("c", 10, 40);
  builder.launch(15).noted("c").kernel(100, 110).launch(30).noted("c").kernel(110, 120);
  const Projected p(builder);
  CHECK(p.inclusive("p").gpu_ops == 1);
  CHECK(p.inclusive("c").gpu_ops == 2);
}

TEST_CASE("what does not take part neither owns nor nests", "[projection]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100);
  SECTION("operators, unless asked for") {
    builder.range("aten::mm", 10, 20).of_kind(RangeKind::kOperator).launch(15).kernel(30, 40);
    SECTION("not asked for") {
      const Projected p(builder);
      CHECK(p.owner(0) == "step");
      CHECK(p.inclusive("aten::mm").gpu_ops == 0);
      CHECK(p.parent("aten::mm") == "");
    }
    SECTION("asked for") {
      ProjectionOptions options;
      options.operators = true;
      const Projected p(builder, options);
      CHECK(p.owner(0) == "aten::mm");
      CHECK(p.parent("aten::mm") == "step");
    }
    SECTION("operators alone") {
      ProjectionOptions options;
      options.operators = true;
      options.annotations = false;
      const Projected p(builder, options);
      CHECK(p.owner(0) == "aten::mm");
      CHECK(p.parent("aten::mm") == "");
      CHECK(p.inclusive("step").gpu_ops == 0);
    }
  }
  SECTION("ranges that never own") {
    builder.range("bookkeeping", 10, 20).flagged(kOwnerless).range("inside", 12, 18).launch(15).kernel(30, 40);
    const Projected p(builder);
    CHECK(p.owner(0) == "inside");
    CHECK(p.parent("inside") == "step");
    CHECK(p.inclusive("bookkeeping").gpu_ops == 0);
  }
}

TEST_CASE("threads and processes do not see each other's ranges", "[projection]") {
  TimelineBuilder builder;
  builder.on_thread(1).range("forward", 0, 100).on_thread(2).launch(50).kernel(60, 70);
  builder.on_process(2).on_thread(1).launch(50).kernel(60, 70);
  const Projected p(builder);
  CHECK(p.owner(0) == "(outside)");
  CHECK(p.owner(1) == "(outside)");
  CHECK(p.projection.account.outside.gpu_ops == 2);
}

TEST_CASE("several activities of one launch", "[projection]") {
  TimelineBuilder builder;
  builder.range("replay", 0, 10).launch(5).kernel(20, 30).on_stream(9).kernel(25, 40).on_device(1).kernel(100, 101);
  const Projected p(builder);
  CHECK(p.inclusive("replay").gpu_ops == 3);
  CHECK(p.inclusive("replay").gpu_busy_ns == 21);
  CHECK(p.inclusive("replay").gpu_span_ns() == 81);
}

TEST_CASE("a noted range wins over times", "[projection]") {
  TimelineBuilder builder;
  SECTION("at a tie of begin, launch and end") {
    // The clock read the same at the end of `a`, at both launches and at the begin of `b`.
    builder.range("step", 0, 100).range("a", 0, 10).range("b", 10, 20);
    builder.launch(10).noted("a").kernel(30, 40).launch(10).noted("step").kernel(40, 50).launch(10).noted("b").kernel(
        50, 60);
    const Projected p(builder);
    CHECK(p.owner(0) == "a");
    CHECK(p.owner(1) == "step");
    CHECK(p.owner(2) == "b");
    CHECK(p.inclusive("a").gpu_ops == 1);
    CHECK(p.inclusive("b").gpu_ops == 1);
    CHECK(p.inclusive("step").gpu_ops == 3);
  }
  SECTION("a launch before the range inside it begins at the same time") {
    builder.range("outer", 0, 50).range("inner", 10, 20);
    builder.launch(10).noted("outer").kernel(60, 70).launch(10).noted("inner").kernel(70, 80);
    const Projected p(builder);
    CHECK(p.owner(0) == "outer");
    CHECK(p.owner(1) == "inner");
    CHECK(p.inclusive("inner").gpu_ops == 1);
  }
  SECTION("a range without length") {
    builder.range("outer", 0, 50).range("empty", 10, 10).launch(10).noted("empty").kernel(60, 70);
    const Projected p(builder);
    CHECK(p.owner(0) == "empty");
    CHECK(p.inclusive("outer").gpu_ops == 1);
  }
  SECTION("against all evidence") {
    builder.range("early", 0, 10).range("late", 100, 110).launch(105).noted("early").kernel(120, 130);
    const Projected p(builder);
    CHECK(p.owner(0) == "early");
    CHECK(p.inclusive("late").gpu_ops == 0);
  }
  SECTION("one that takes no part hands on to the range around it") {
    builder.range("step", 0, 100).range("op", 10, 20).of_kind(RangeKind::kOperator).range("in op", 12, 14);
    builder.launch(15).noted("op").kernel(30, 40);
    const Projected p(builder);
    CHECK(p.owner(0) == "step");
  }
  SECTION("one that takes no part, with nothing around it") {
    builder.range("op", 10, 20).of_kind(RangeKind::kOperator).launch(15).noted("op").kernel(30, 40);
    const Projected p(builder);
    CHECK(p.owner(0) == "(outside)");
  }
  SECTION("start/end ranges still count by time") {
    builder.range("step", 0, 100).range("request", 10, 60).start_end().range("op", 20, 40);
    builder.launch(30).noted("op").kernel(200, 210).launch(50).noted("request").kernel(210, 220);
    const Projected p(builder);
    CHECK(p.owner(0) == "op");
    CHECK(p.owner(1) == "request");
    CHECK(p.inclusive("request").gpu_ops == 2);
    CHECK(p.inclusive("step").gpu_ops == 2);
  }
}

TEST_CASE("figures stay exact through deep nesting", "[projection]") {
  TimelineBuilder builder;
  constexpr std::int64_t kDepth = 2000;
  for (std::int64_t level = 0; level < kDepth; ++level)
    builder.range("level " + std::to_string(level), level, 4 * kDepth - level);
  for (std::int64_t level = 0; level < kDepth; ++level)
    builder.on_stream(7 + level % 2).launch(level).kernel(10000 + level * 10, 10000 + level * 10 + 15);
  const Timeline timeline = builder.build();
  const Projection projection = project(timeline, {});
  require_sound_account(timeline, projection);
  CHECK(projection.inclusive[RangeIndex(0)].gpu_ops == kDepth);
  CHECK(projection.inclusive[RangeIndex(0)].gpu_busy_ns == 10 * (kDepth - 1) + 15);
  CHECK(projection.inclusive[RangeIndex(kDepth - 1)].gpu_ops == 1);
  CHECK(projection.depth[kDepth - 1] == kDepth - 1);
  CHECK(projection.omitted_stream_rows == 0);
}

TEST_CASE("times at the edges of what a number holds do no harm", "[projection]") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min() + 1;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const bool closed : {false, true}) {
    TimelineBuilder builder;
    if (closed) builder.closed_ends();
    builder.range("all", kLeast, kMax).range("end", kMax, kMax).range("backwards", 50, 10);
    builder.launch(kLeast).kernel(kLeast, kMax).kernel(kLeast, kMax).launch(kMax).kernel(kMax, kLeast);
    builder.on_stream(8).launch(20).kernel(kLeast, kMax).without_launch(7).kernel(kMax, kMax).window(kLeast, kMax);
    const Timeline timeline = builder.build();
    const Projection projection = project(timeline, {});
    CHECK(projection.account.total.gpu_ops == 5);
    CHECK(projection.inclusive[RangeIndex(0)].gpu_ops >= 3);
    CHECK(projection.inclusive[RangeIndex(0)].gpu_span_ns() == -2);  // 2^64 - 2, wrapped around
  }
}

TEST_CASE("figures of ranges are kept however many have work", "[projection]") {
  constexpr std::uint32_t kRanges = 400'000;  // Three of four have work: more than the small blocks hold.
  const auto has_work = [](std::uint32_t range) { return range % 4 != 3; };
  const auto figures = [](std::uint32_t range, std::uint64_t gpu_ops) {
    DeviceFigures row;
    row.gpu_ops = gpu_ops;
    row.gpu_sum_ns = range;
    return row;
  };
  RangeFigures all(kRanges);
  for (std::uint32_t range = kRanges; range-- > 0;) all.set(RangeIndex(range), figures(range, has_work(range) ? 1 : 0));
  for (std::uint32_t range = 0; range < kRanges; range += 5)
    if (has_work(range)) all.set(RangeIndex(range), figures(range, 2));
  std::uint32_t wrong = 0;
  for (std::uint32_t range = 0; range < kRanges; ++range) {
    const DeviceFigures& row = all[RangeIndex(range)];
    const std::uint64_t gpu_ops = !has_work(range) ? 0 : range % 5 == 0 ? 2 : 1;
    if (row.gpu_ops != gpu_ops || row.gpu_sum_ns != (gpu_ops == 0 ? 0 : std::int64_t{range})) ++wrong;
  }
  CHECK(all.size() == kRanges);
  CHECK(wrong == 0);
  CHECK(all[RangeIndex(kRanges)].gpu_ops == 0);
}
