// SPDX-License-Identifier: MIT
#include "analysis/nsight/nvtx_kernels.hpp"

#include "analysis/nsight/slow_nsight.hpp"
#include "analysis/spread.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

using namespace rangefinder;
using namespace rangefinder::analysis::nsight;
using rangefinder::testing::TimelineBuilder;

TEST_CASE("a kernel counts for every range around its launch, and once an instance", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("step", 0, 100)
                                .range("layer", 10, 20)
                                .launch_call("l", 11, 12)
                                .kernel(30, 40, "k")
                                .launch_call("l", 13, 14)
                                .kernel(40, 45, "k")
                                .range("layer", 50, 60)
                                .launch_call("l", 51, 52)
                                .kernel(70, 71, "k")
                                .build();
  Labels labels(timeline);
  const auto rows = kernels_in_ranges(timeline, KernelName::kFull, labels);
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  CHECK(labels.text((*rows)[0].name) == "layer");
  CHECK((*rows)[0].instances == 2);
  CHECK((*rows)[0].duration.count == 3);
  CHECK((*rows)[1].instances == 1);
  CHECK((*rows)[1].duration.total_saturated() == 16);
}

TEST_CASE("kernels outside ranges are listed by thread, those without a launch first", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .on_thread(2)
                                .launch_call("l", 1, 2)
                                .kernel(3, 4, "b")
                                .on_thread(1)
                                .launch_call("l", 1, 2)
                                .kernel(3, 4, "a")
                                .without_launch(99)
                                .kernel(5, 6, "c")
                                .build();
  Labels labels(timeline);
  const auto rows = kernels_in_ranges(timeline, KernelName::kFull, labels);
  REQUIRE(rows);
  std::string order;
  for (const NvtxKernelRow& row : *rows)
    order += std::string(labels.text(row.kernel)) + (row.thread == kNone ? "? " : " ");
  CHECK(order == "c? a b ");
  CHECK((*rows)[0].instances == 0);
}

TEST_CASE("kernels in ranges equal a loop over every pair", "[analysis][property]") {
  const std::uint64_t seed = GENERATE(from_range(rangefinder::testing::property_seeds("kernels in ranges", 8)));
  INFO("RANGEFINDER_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 250; ++round) {
    const Timeline timeline = rangefinder::testing::random_nsight_timeline(random);
    auto expected = rangefinder::testing::slow_kernels_in_ranges(timeline);
    Labels labels(timeline);
    const auto rows = kernels_in_ranges(timeline, KernelName::kFull, labels);
    REQUIRE(rows);
    CHECK(rows->size() == expected.size());
    for (const NvtxKernelRow& row : *rows) {
      const rangefinder::testing::SlowKernelKey key{
          row.in_range ? std::string(labels.text(row.name)) : "",
          row.in_range ? (row.style == RangeStyle::kScoped ? "PushPop" : "StartEnd") : "", row.thread,
          std::string(labels.text(row.kernel))};
      REQUIRE(expected.count(key) == 1);
      rangefinder::testing::SlowKernelGroup& group = expected.at(key);
      CHECK(row.instances == group.ranges.size());
      const analysis::Spread spread = analysis::spread_of(group.durations);
      CHECK(row.duration.count == spread.count);
      CHECK((row.duration.total == spread.total));
      CHECK((row.duration.median_twice == spread.median_twice));
      CHECK(row.duration.max == spread.max);
    }
  }
}

TEST_CASE("ranges nested without end are counted without going through the kernels of each", "[analysis]") {
  TimelineBuilder builder;
  constexpr std::int64_t kDepth = 50'000;
  for (std::int64_t i = 0; i < kDepth; ++i)
    builder.range("r" + std::to_string(i), i, 10 * kDepth - i).launch_call("l", i, i).kernel(i, 2 * i + 1);
  const Timeline timeline = builder.build();
  Labels labels(timeline);
  const auto rows = kernels_in_ranges(timeline, KernelName::kFull, labels);
  REQUIRE(rows);
  REQUIRE(rows->size() == kDepth);
  for (const NvtxKernelRow& row : *rows) {
    const std::int64_t level = std::stoll(std::string(labels.text(row.name)).substr(1));
    REQUIRE(row.duration.count == static_cast<std::uint64_t>(kDepth - level));
    REQUIRE(row.duration.min == level + 1);  // a kernel takes a nanosecond more than the one around it
    REQUIRE(row.duration.max == kDepth);
    REQUIRE((row.duration.median_twice == level + 1 + kDepth));
  }
}
