// SPDX-License-Identifier: MIT
#include "analysis/exact_sum.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using rangefinder::analysis::ExactSum;

namespace {

long double sum_of(const std::vector<double>& numbers) {
  ExactSum sum;
  for (const double number : numbers) sum.add(number);
  return sum.total();
}

}  // namespace

TEST_CASE("a sum of doubles has no rounding in between", "[analysis]") {
  CHECK(sum_of({}) == 0);
  CHECK(sum_of({1e300, 1, -1e300}) == 1);
  CHECK(sum_of({1, 1e-30, -1}) == static_cast<long double>(1e-30));
  constexpr double kMax = std::numeric_limits<double>::max();
  CHECK(static_cast<double>(sum_of({kMax, kMax, kMax}) / 3) == kMax);
}

TEST_CASE("the order of doubles does not change their sum", "[analysis][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("exact sum"));
  for (int round = 0; round < 200; ++round) {
    std::vector<double> numbers(1 + random() % 30);
    for (double& number : numbers)
      number = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random() % 2'000'001) - 1'000'000),
                          static_cast<int>(random() % 200) - 100);
    const long double sum = sum_of(numbers);
    std::shuffle(numbers.begin(), numbers.end(), random);
    CHECK(sum_of(numbers) == sum);
  }
}
