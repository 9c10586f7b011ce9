// SPDX-License-Identifier: MIT
#include "analysis/length_steps.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

using namespace rangefinder::analysis;

TEST_CASE("lengths keep their ranks to a thousandth, and where steps are too many to what is said", "[analysis]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("length steps"));
  LengthSteps many, few(200);
  std::vector<std::int64_t> lengths[2];
  for (int i = 0; i < 20'000; ++i) {
    const auto group = static_cast<std::uint32_t>(i % 2);
    const auto length = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    lengths[group].push_back(length);
    many.add(group, length);
    few.add(group, length);
  }
  for (std::vector<std::int64_t>& each : lengths) std::sort(each.begin(), each.end());
  CHECK(many.precision() == "a thousandth");
  CHECK(few.precision() == "1/32");  // as coarse as they get: two groups over 63 octaves
  CHECK(few.memory_bytes() < many.memory_bytes() / 4);
  const auto compare = [&](const LengthSteps& steps, std::int64_t parts) {
    std::uint32_t groups = 0;
    steps.each_group([&](const LengthSteps::Ranked& ranked) {
      CHECK(ranked.group() == groups++);
      REQUIRE(ranked.count() == 10'000);
      for (const std::uint64_t rank : {1, 2, 5'000, 9'500, 10'000}) {
        const std::int64_t exact = lengths[ranked.group()][rank - 1];
        CHECK(std::abs(ranked.at(rank) - exact) <= exact / parts);
      }
    });
    CHECK(groups == 2);
  };
  compare(many, 1'000);
  compare(few, 32);
}

TEST_CASE("the least and the greatest length have steps", "[analysis]") {
  LengthSteps steps;
  for (const std::int64_t length : {std::int64_t{-5}, std::numeric_limits<std::int64_t>::max()}) steps.add(7, length);
  steps.each_group([](const LengthSteps::Ranked& ranked) {
    CHECK(ranked.group() == 7);
    CHECK(ranked.at(1) == 0);
    CHECK(ranked.at(2) > std::numeric_limits<std::int64_t>::max() / 1'000 * 999);
  });
}
