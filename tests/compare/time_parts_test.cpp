// SPDX-License-Identifier: MIT
#include "compare/time_parts.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cmath>
#include <cstdint>
#include <random>

using namespace rangefinder;
using namespace rangefinder::compare;
using rangefinder::testing::any_size;
using rangefinder::testing::below;

namespace {

MeanAmounts amounts(double calls, double ops, double work, double hidden, double host, double idle) {
  return {calls, ops, work, hidden, host, idle};
}

}  // namespace

TEST_CASE("a change of time is divided into count, host, kernels, idle and overlap", "[compare]") {
  const MeanAmounts before = amounts(1, 10, 100, 20, 40, 5);
  SECTION("more kernels of the same length are a matter of count") {
    const TimeParts parts = divide(before, amounts(1, 12, 120, 20, 40, 5), true);
    CHECK(parts.count_ns == 20);
    CHECK(parts.sum() == 20);
  }
  SECTION("longer kernels are a matter of kernels") {
    const TimeParts parts = divide(before, amounts(1, 10, 130, 20, 40, 5), true);
    CHECK(parts.kernel_ns == 30);
    CHECK(parts.sum() == 30);
  }
  SECTION("more and longer kernels are both") {
    const TimeParts parts = divide(before, amounts(1, 20, 300, 20, 40, 5), true);
    CHECK(parts.count_ns == 100);
    CHECK(parts.kernel_ns == 100);
  }
  SECTION("work that is hidden no longer is overlap") {
    CHECK(divide(before, amounts(1, 10, 100, 0, 40, 5), true).overlap_ns == 20);
  }
  SECTION("twice the calls explain twice the time of the host") {
    const TimeParts parts = divide(before, amounts(2, 10, 100, 20, 90, 5), true);
    CHECK(parts.host_ns == 10 - 0);
    CHECK(parts.idle_ns == -5);
    CHECK(parts.count_ns == 40 + 5);
  }
  SECTION("what is new is all count, but for what of it is hidden") {
    const TimeParts parts = divide({}, before, false);
    CHECK(parts.count_ns == 145);
    CHECK(parts.overlap_ns == -20);
    CHECK(parts.sum() == before.time_ns());
  }
}

TEST_CASE("parts in whole nanoseconds add up to the change", "[compare]") {
  CHECK(rounded_to({0.4, 0.4, 0.4, 0.4, 0.4}, 2).sum() == 2);
  const TimeDivision thirds = rounded_to({1.0 / 3, 1.0 / 3, 1.0 / 3, 0, 0}, 1);
  CHECK(thirds.sum() == 1);
  CHECK(thirds.idle_ns == 0);
  CHECK(thirds.overlap_ns == 0);
  const TimeDivision exact = rounded_to({5, -3, 0, 0, 0}, 2);
  CHECK(exact.count_ns == 5);
  CHECK(exact.host_ns == -3);
  SECTION("whatever they are") {
    std::mt19937_64 random(rangefinder::testing::property_seed("rounded parts"));
    for (int round = 0; round < 2'000; ++round) {
      const auto any = [&] {
        return std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(below(random, 40)) - 60);
      };
      const TimeParts parts{any(), -any(), any(), -any(), any()};
      const auto change = static_cast<std::int64_t>(std::llround(parts.sum()));
      const TimeDivision rounded = rounded_to(parts, change);
      REQUIRE(rounded.sum() == change);
      // Nothing moves by more than rounding, and what the sum of doubles lost.
      const double slack = 2 + std::abs(parts.count_ns) * 1e-14 + std::abs(parts.overlap_ns) * 1e-14;
      REQUIRE(std::abs(static_cast<double>(rounded.count_ns) - parts.count_ns) <= slack + 5);
      const auto wild = static_cast<std::int64_t>(any_size(random));
      REQUIRE(rounded_to(parts, wild).sum() == wild);
    }
  }
}

TEST_CASE("means are rounded to nearest", "[compare]") {
  CHECK(mean_ns(7, 2) == 4);
  CHECK(mean_ns(-7, 2) == -4);
  CHECK(mean_ns(7, 0) == 0);
  CHECK(mean_ns(INT64_MIN, 1) == INT64_MIN);
}
