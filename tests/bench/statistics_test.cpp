// SPDX-License-Identifier: MIT
#include "bench/statistics.hpp"

#include "support/catch.hpp"

#include <algorithm>

using namespace rangefinder::bench;

TEST_CASE("statistics are those of numpy", "[bench]") {
  // numpy: mean, std(ddof=1), percentile(a, [50, 90, 95, 99]) of these.
  const std::vector<double> samples{12, 15, 11, 19, 14, 13, 90, 12};
  const Statistics found = statistics_of(samples);
  CHECK(found.count == 8);
  CHECK(found.mean == Approx(23.25));
  CHECK(found.deviation == Approx(27.0858423746));
  CHECK(found.least == 11);
  CHECK(found.most == 90);
  CHECK(found.p50 == Approx(13.5));
  CHECK(found.p90 == Approx(40.3));
  CHECK(found.p95 == Approx(65.15));
  CHECK(found.p99 == Approx(85.03));
}

TEST_CASE("statistics of one sample and of none", "[bench]") {
  const Statistics one = statistics_of(std::vector<double>{7});
  CHECK(one.deviation == 0);
  CHECK(one.p50 == 7);
  CHECK(one.p99 == 7);
  CHECK(statistics_of({}).count == 0);
  CHECK(statistics_of({}).p50 == 0);
}

TEST_CASE("the interval of a ratio of medians", "[bench]") {
  SECTION("samples without spread leave no doubt") {
    const Interval interval = ratio_interval(std::vector<double>(9, 30.0), std::vector<double>(9, 10.0));
    CHECK(interval.low == Approx(3));
    CHECK(interval.high == Approx(3));
  }
  SECTION("spread widens it around the ratio, the same each time") {
    std::vector<double> baseline, optimized;
    for (int i = 0; i < 40; ++i) {
      baseline.push_back(200 + i % 11);
      optimized.push_back(100 + i % 7);
    }
    const Interval interval = ratio_interval(baseline, optimized);
    const double ratio = statistics_of(baseline).p50 / statistics_of(optimized).p50;
    CHECK(interval.low < ratio);
    CHECK(interval.high > ratio);
    // The medians move within [203, 207] and [101, 105]: nothing beyond may come out.
    CHECK(interval.low >= 203.0 / 105);
    CHECK(interval.high <= 207.0 / 101);
    CHECK(ratio_interval(baseline, optimized).low == interval.low);
  }
  SECTION("one outlier of many does not move it") {
    std::vector<double> baseline(21, 50.0), optimized(21, 50.0);
    baseline.back() = 1e9;
    CHECK(ratio_interval(baseline, optimized).high == Approx(1));
  }
  SECTION("of a low quantile it is not moved by slow samples, however many of one variant") {
    std::vector<double> baseline(20, 60.0), optimized(20, 20.0);
    std::fill(optimized.begin() + 8, optimized.end(), 33.0);
    CHECK(ratio_of_medians(baseline, optimized) == Approx(60.0 / 33));
    CHECK(ratio_of_quantiles(baseline, optimized, 0.1) == Approx(3));
    CHECK(ratio_interval(baseline, optimized, 0.1).high == Approx(3));
    CHECK(ratio_of_quantiles(baseline, {}, 0.1) == 0);
  }
  SECTION("it is unknown from fewer than five samples") {
    CHECK(ratio_interval(std::vector<double>(4, 30.0), std::vector<double>(9, 10.0)).high == 0);
    CHECK(ratio_interval(std::vector<double>(9, 30.0), std::vector<double>(4, 10.0)).high == 0);
    CHECK(ratio_interval(std::vector<double>(5, 30.0), std::vector<double>(5, 10.0)).high == Approx(3));
  }
  SECTION("nothing from nothing") {
    CHECK(ratio_interval({}, std::vector<double>{1}).high == 0);
    CHECK(ratio_interval(std::vector<double>{1}, std::vector<double>{0}).high == 0);
  }
}
