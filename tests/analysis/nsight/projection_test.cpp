// SPDX-License-Identifier: MIT
#include "analysis/nsight/projection.hpp"

#include "analysis/nsight/slow_nsight.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

using namespace rangefinder;
using namespace rangefinder::analysis::nsight;
using rangefinder::testing::TimelineBuilder;

TEST_CASE("work belongs to every range that the whole call lies in", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("outer", 0, 100)
                                .range("inner", 10, 20)
                                .launch_call("l", 12, 18)
                                .kernel(30, 40)
                                .launch_call("l", 19, 21)  // leaves inner before it returns
                                .kernel(50, 70)
                                .build();
  const std::vector<ProjectedRow> rows = gpu_projection(timeline);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].first_ns == 30);
  CHECK(rows[0].last_ns == 70);
  CHECK(rows[0].launches == 2);
  CHECK(rows[0].children == 1);
  CHECK(rows[1].last_ns == 40);
  CHECK(rows[1].parent == 0);
  CHECK(rows[1].level == 1);
}

TEST_CASE("a launch of several kernels counts once", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("graph", 0, 100)
                                .launch_call("cudaGraphLaunch", 10, 20)
                                .kernel(30, 40)
                                .kernel(45, 60)
                                .build();
  const std::vector<ProjectedRow> rows = gpu_projection(timeline);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].launches == 1);
  CHECK(rows[0].last_ns - rows[0].first_ns == 30);
}

TEST_CASE("work outside all ranges is one row in front, of the launch that ends last", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("r", 0, 10)
                                .launch_call("l", 1, 2)
                                .kernel(3, 4)
                                .launch_call("l", 20, 21)
                                .kernel(30, 90)
                                .on_thread(2)
                                .launch_call("l", 22, 23)
                                .kernel(25, 40)
                                .build();
  const std::vector<ProjectedRow> rows = gpu_projection(timeline);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].range == kNone);
  CHECK(rows[0].launches == 2);
  CHECK(rows[0].first_ns == 25);
  CHECK(rows[0].last_ns == 90);
  CHECK(timeline.threads[rows[0].thread].tid == 1);
  CHECK(rows[1].range == 0);
}

TEST_CASE("a launch without a recorded call counts by its time", "[analysis]") {
  const Timeline timeline =
      TimelineBuilder().range("r", 10, 20).launch(20).kernel(30, 40).launch(21).kernel(50, 60).build();
  const std::vector<ProjectedRow> rows = gpu_projection(timeline);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].launches == 1);
}

TEST_CASE("activities without a launch are in no row", "[analysis]") {
  const Timeline timeline = TimelineBuilder().range("r", 0, 100).without_launch(9).kernel(10, 20).build();
  CHECK(gpu_projection(timeline).empty());
}

TEST_CASE("the sum groups instances and leaves out the nameless row", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("r", 0, 10)
                                .launch_call("l", 1, 2)
                                .kernel(3, 13)
                                .range("r", 20, 40)
                                .launch_call("l", 21, 22)
                                .kernel(23, 53)
                                .launch_call("l", 50, 51)
                                .kernel(60, 70)
                                .build();
  ProjectionSums sums(timeline);
  sums.add_whole();
  const std::vector<ProjectedSumRow> rows = sums.rows();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].projected.total_saturated() == 40);
  CHECK(rows[0].projected.median(1) == 200);
  CHECK(rows[0].range.total_saturated() == 30);
  CHECK(rows[0].launches.total_saturated() == 2);
}

TEST_CASE("the projection equals a loop over every range and launch", "[analysis][property]") {
  const std::uint64_t seed = GENERATE(from_range(rangefinder::testing::property_seeds("projection of Nsight", 8)));
  INFO("RANGEFINDER_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 250; ++round) {
    const Timeline timeline = rangefinder::testing::random_nsight_timeline(random);
    rangefinder::testing::SlowProjected outside;
    const auto expected = rangefinder::testing::slow_gpu_projection(timeline, outside);
    const std::vector<ProjectedRow> rows = gpu_projection(timeline);
    std::size_t owned = 0;
    for (const ProjectedRow& row : rows) {
      const bool nameless = row.range == kNone;
      REQUIRE((nameless || expected.count(row.range) == 1));
      const rangefinder::testing::SlowProjected& slow = nameless ? outside : expected.at(row.range);
      CHECK(row.first_ns == slow.first_ns);
      CHECK(row.last_ns == slow.last_ns);
      CHECK(row.launches == slow.correlations.size());
      owned += nameless ? 0 : 1;
      if (row.parent == kNone) continue;
      const ProjectedRow& parent = rows[row.parent];
      CHECK(timeline.ranges.begin_ns[parent.range] <= timeline.ranges.begin_ns[row.range]);
      CHECK(timeline.ranges.end_ns[parent.range] >= timeline.ranges.end_ns[row.range]);
      CHECK(parent.level + 1 == row.level);
    }
    CHECK(owned == expected.size());
    CHECK(rows.size() - owned == (outside.correlations.empty() ? 0 : 1));
  }
}
