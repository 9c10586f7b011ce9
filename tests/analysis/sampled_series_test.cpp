// SPDX-License-Identifier: MIT
#include "analysis/sampled_series.hpp"

#include "support/catch.hpp"

using rangefinder::analysis::SampledSeries;

namespace {

SampledSeries series(std::initializer_list<std::pair<std::int64_t, double>> readings) {
  SampledSeries out;
  for (const auto& [time, value] : readings) out.add(time, value);
  out.finish();
  return out;
}

}  // namespace

TEST_CASE("a sampled quantity changes evenly between readings", "[analysis]") {
  const SampledSeries power = series({{0, 100}, {10, 200}, {20, 200}});
  CHECK(power.integral(0, 20) == Approx(1500 + 2000));
  CHECK(power.integral(0, 5) == Approx((100 + 150) / 2.0 * 5));
  CHECK(power.integral(5, 15) == Approx((150 + 200) / 2.0 * 5 + 200 * 5));
  CHECK(power.integral(7, 7) == 0);
  CHECK(power.covered_ns(5, 15) == 10);
  CHECK(power.readings(0, 20) == 2);
  CHECK(power.readings(1, 21) == 2);
}

TEST_CASE("nothing is known outside of the readings", "[analysis]") {
  const SampledSeries power = series({{100, 50}, {110, 50}});
  CHECK(power.covered_ns(0, 105) == 5);
  CHECK(power.integral(0, 105) == Approx(250));
  CHECK(power.covered_ns(200, 300) == 0);
  CHECK(series({}).integral(0, 10) == 0);
  CHECK(series({{5, 1}}).covered_ns(0, 10) == 0);
}

TEST_CASE("a gap between readings is not made up", "[analysis]") {
  // Readings each 10, and one pause of 50.
  const SampledSeries power = series({{0, 10}, {10, 10}, {20, 10}, {70, 10}, {80, 10}, {90, 10}});
  CHECK(power.covered_ns(0, 90) == 40);
  CHECK(power.integral(0, 90) == Approx(400));
  CHECK(power.covered_ns(30, 60) == 0);
  CHECK(power.integral(15, 75) == Approx(100));
}

TEST_CASE("of readings that go back in time the first ones stand", "[analysis]") {
  const SampledSeries power = series({{0, 10}, {10, 10}, {5, 1000}, {10, 1000}, {20, 10}});
  CHECK(power.integral(0, 20) == Approx(200));
}
