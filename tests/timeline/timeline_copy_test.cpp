// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/timeline.hpp>

#include <string>
#include <utility>

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("a copy of a timeline has tables and texts of its own", "[timeline]") {
  Timeline timeline = TimelineBuilder().range("step", 0, 100).launch(10).kernel(200, 300).build();
  timeline.arguments.add(1, "\"a\":1");
  Timeline copy = timeline;
  REQUIRE(copy.ranges.size() == 1);
  CHECK(copy.text(copy.ranges.name[RangeIndex{0}]) == "step");
  CHECK(copy.string_count() == timeline.string_count());

  const StringId added = copy.intern("only in the copy");
  copy.activities = {};
  copy.arguments.add(2, "\"b\":2");
  timeline.arguments.add(2, "\"c\":3");
  StringId found{};
  CHECK_FALSE(timeline.find("only in the copy", found));
  CHECK(timeline.intern("only in the first") == added);
  CHECK(copy.text(added) == "only in the copy");
  CHECK(timeline.activities.size() == 1);
  CHECK(copy.arguments.find(1) == "\"a\":1");
  CHECK(copy.arguments.find(2) == "\"b\":2");
  CHECK(timeline.arguments.find(2) == "\"c\":3");

  timeline = copy;
  CHECK(timeline.text(added) == "only in the copy");
  const Timeline moved = std::move(copy);
  CHECK(moved.text(added) == "only in the copy");
  CHECK(moved.arguments.find(2) == "\"b\":2");
}
