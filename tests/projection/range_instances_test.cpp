// SPDX-License-Identifier: MIT
#include "projection/range_instances.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/projection.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

using namespace rangefinder;
using rangefinder::projection::RangeInstances;
using rangefinder::testing::TimelineBuilder;

TEST_CASE("busy time and span of several windows are those of one", "[projection][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("range instances"));
  for (int round = 0; round < 200; ++round) {
    TimelineBuilder whole;
    whole.range("outer", 0, 1'000'000).range("inner", 1, 999'999);
    RangeInstances instances(RangeInstances::Figures::kAll);
    std::vector<RangeInstances::Added> sum(2);
    std::int64_t settled = 0;
    for (int window = 0; window < 10; ++window) {
      TimelineBuilder part;
      part.range("outer", 0, 1'000'000).range("inner", 1, 999'999);
      for (std::uint64_t n = random() % 8; n > 0; --n) {
        const std::int64_t launched = random() % 2 == 0 ? 0 : 5;
        const std::uint32_t device = random() % 4 == 0 ? 1 : 0;
        const std::int64_t begin = settled + static_cast<std::int64_t>(random() % 300);
        const std::int64_t end = begin + static_cast<std::int64_t>(random() % 60);
        for (TimelineBuilder* builder : {&whole, &part})
          builder->on_device(device).on_stream(device * 2 + 7).launch(launched).kernel(begin, end);
      }
      const Timeline timeline = part.build();
      const auto added = instances.add(timeline, project(timeline, {}), [](RangeIndex row) { return row + 1; });
      for (std::size_t row = 0; row < sum.size(); ++row) {
        sum[row].busy_ns += added[row].busy_ns;
        sum[row].span_ns += added[row].span_ns;
        sum[row].own_busy_ns += added[row].own_busy_ns;
        sum[row].any_busy_ns += added[row].any_busy_ns;
      }
      if (random() % 2 == 0) continue;
      settled += static_cast<std::int64_t>(random() % 200);
      instances.settle(settled);
      instances.forget([](std::uint64_t) { return true; });
    }
    const Timeline timeline = whole.build();
    const Projection projection = project(timeline, {});
    for (RangeIndex row{0}; row < 2; ++row) {
      REQUIRE(sum[row].busy_ns == projection.inclusive[row].gpu_busy_ns);
      REQUIRE(sum[row].any_busy_ns == projection.inclusive[row].any_busy_ns);
      REQUIRE(sum[row].own_busy_ns == projection.exclusive[row].gpu_busy_ns);
      REQUIRE(sum[row].span_ns ==
              (projection.inclusive[row].gpu_ops != 0 ? projection.inclusive[row].gpu_span_ns() : 0));
    }
  }
}
