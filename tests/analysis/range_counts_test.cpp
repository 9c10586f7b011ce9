// SPDX-License-Identifier: MIT
#include "analysis/range_rollup.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;
using analysis::RangeGroup;

namespace {

RangeGroup only(const Timeline& timeline) {
  const analysis::RangeGroups groups =
      analysis::roll_up_ranges(timeline, project(timeline, {}), {}, analysis::GroupBy::kName);
  REQUIRE(groups.size() == 1);
  return groups[0];
}

}  // namespace

TEST_CASE("start/end ranges of one name add up, however they overlap", "[analysis]") {
  TimelineBuilder builder;
  builder.range("request", 0, 90).start_end();
  builder.range("request", 10, 50).start_end();  // within the first
  builder.range("request", 60, 120).start_end();
  builder.launch(20).kernel(30, 37);
  const RangeGroup group = only(builder.build());
  CHECK(group.count == 3);
  CHECK(group.host_count == 3);
  CHECK(group.host_ns == 90 + 40 + 60);
  CHECK(group.host_min_ns == 40);
  CHECK(group.host_max_ns == 90);
  CHECK(group.inclusive.gpu_sum_ns == 7);  // launched in two of them, one within the other
}

TEST_CASE("a pushed range inside of one of its name is in that one's times", "[analysis]") {
  TimelineBuilder builder;
  builder.range("layer", 0, 90).range("layer", 10, 50).range("layer", 20, 30);
  builder.launch(25).kernel(30, 37).range("layer", 100, 120);
  const RangeGroup group = only(builder.build());
  CHECK(group.count == 4);
  CHECK(group.host_count == 2);
  CHECK(group.host_ns == 90 + 20);
  CHECK(group.host_min_ns == 20);
  CHECK(group.inclusive.gpu_sum_ns == 7);
}

TEST_CASE("a range that was suspended counts once, with the time in which it waited", "[analysis]") {
  TimelineBuilder builder;
  builder.range("request", 0, 10).flagged(kSuspended).launch(5).kernel(30, 37);
  builder.range("request", 20, 30).flagged(kSuspended);  // another one
  builder.launch(25).kernel(40, 41);
  builder.range("request", 50, 60).resumed(0).launch(55).kernel(60, 62);
  builder.range("request", 100, 110).resumed(20);
  const RangeGroup group = only(builder.build());
  CHECK(group.count == 2);
  CHECK(group.host_count == 2);
  CHECK(group.host_ns == 60 + 90);
  CHECK(group.host_min_ns == 60);
  CHECK(group.host_max_ns == 90);
  CHECK(group.inclusive.gpu_sum_ns == 7 + 1 + 2);
}
