// SPDX-License-Identifier: MIT
#include "analysis/spread.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

using namespace rangefinder::analysis;

namespace {
constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
Spread of(std::vector<std::int64_t> samples) { return spread_of(samples); }
}  // namespace

TEST_CASE("quotients are rounded half away from zero", "[analysis]") {
  CHECK(rounded_quotient(1, 4, 1) == 3);  // 0.25
  CHECK(rounded_quotient(-1, 4, 1) == -3);
  CHECK(rounded_quotient(203429256 * 4 + 1, 4, 1) == 2034292563);
  CHECK(rounded_quotient(41, 20, 1) == 21);  // 2.05, which no double holds
  CHECK(rounded_quotient(1, 3, 1) == 3);
  CHECK(rounded_quotient(2, 3, 1) == 7);
  CHECK(rounded_quotient(0, 7, 3) == 0);
  CHECK(rounded_quotient(5, 1, 0) == 5);
  CHECK(rounded_quotient(499, 1'000'000, 3) == 0);
  CHECK(rounded_quotient(500, 1'000'000, 3) == 1);
}

TEST_CASE("quotients of small numbers are those of large ones", "[analysis][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("quotients"));
  for (int round = rangefinder::testing::repeats(2000); round > 0; --round) {
    const auto numerator = static_cast<std::int64_t>(rangefinder::testing::any_size(random, 60));
    const auto denominator = static_cast<std::int64_t>(rangefinder::testing::any_size(random, 60)) + 1;
    const auto places = static_cast<int>(rangefinder::testing::below(random, 4));
    const __int128 factor = static_cast<__int128>(1) << 63;  // beyond what 64 bits hold
    INFO(numerator << " / " << denominator << ", " << places);
    CHECK(rounded_quotient(numerator, denominator, places) ==
          rounded_quotient(numerator * factor, denominator * factor, places));
  }
}

TEST_CASE("quotients past the greatest number stop there", "[analysis]") {
  CHECK(rounded_quotient(static_cast<__int128>(kGreatest) * 4, 1, 0) == kGreatest);
  CHECK(rounded_quotient(static_cast<__int128>(kGreatest), 1, 3) == kGreatest);
  CHECK(rounded_quotient(-static_cast<__int128>(kGreatest) * 4, 1, 0) == -kGreatest);
  CHECK(saturating_add(kGreatest, 1) == kGreatest);
  CHECK(saturating_add(-kGreatest, -5) == std::numeric_limits<std::int64_t>::min());
  CHECK(saturating_add(3, -5) == -2);
}

TEST_CASE("one value has no deviation, none has nothing", "[analysis]") {
  const Spread one = of({7});
  CHECK(one.count == 1);
  CHECK(one.mean(1) == 70);
  CHECK(one.median(1) == 70);
  CHECK(one.standard_deviation(1) == 0);
  CHECK(of({}).count == 0);
}

TEST_CASE("a spread's figures are those of the sample", "[analysis]") {
  const Spread spread = of({14000, 20000});
  CHECK(spread.total_saturated() == 34000);
  CHECK(spread.min == 14000);
  CHECK(spread.max == 20000);
  CHECK(spread.mean(1) == 170000);
  CHECK(spread.median(1) == 170000);
  CHECK(spread.standard_deviation(1) == 42426);  // 4242.6
  const Spread odd = of({9000, 1500, 2000});
  CHECK(odd.mean(1) == 41667);
  CHECK(odd.median(1) == 20000);
  CHECK(odd.standard_deviation(1) == 41932);
  CHECK(of({3, 4}).median(1) == 35);
  CHECK(of({-4, -3}).median(1) == -35);
}

TEST_CASE("sizes are told in megabytes", "[analysis]") {
  const Spread spread = of({1'000'000, 1'000, 1'000'000});
  CHECK(spread.mean(3, 1'000'000) == 667);
  CHECK(spread.median(3, 1'000'000) == 1000);
  CHECK(spread.standard_deviation(3, 1'000'000) == 577);
}

TEST_CASE("the deviation of long times is exact where short ones are", "[analysis]") {
  // One nanosecond of spread on top of a day.
  constexpr std::int64_t kDay = 86'400'000'000'000;
  CHECK(of({kDay, kDay + 1}).standard_deviation(3) == 707);
  CHECK(of({kDay * 20, kDay * 20 + 2, kDay * 20 + 4}).standard_deviation(3) == 2000);
}

TEST_CASE("times at the ends of the range overflow nothing", "[analysis]") {
  const Spread spread = of({kGreatest, 0, kGreatest, std::numeric_limits<std::int64_t>::min()});
  CHECK(spread.count == 4);
  CHECK(spread.standard_deviation(1) == kGreatest);
  CHECK(of(std::vector<std::int64_t>(1000, kGreatest)).total_saturated() == kGreatest);
  CHECK(of(std::vector<std::int64_t>(1000, kGreatest)).mean(0) == kGreatest);
}

TEST_CASE("samples are kept by group", "[analysis]") {
  GroupedSamples samples;
  samples.add(2, 5);
  samples.add(0, 1);
  samples.add(2, 7);
  const std::vector<Spread> spreads = samples.spreads(3);
  REQUIRE(spreads.size() == 3);
  CHECK(spreads[0].mean(0) == 1);
  CHECK(spreads[1].count == 0);
  CHECK(spreads[2].mean(0) == 6);
  CHECK(GroupedSamples().spreads(0).empty());
}

TEST_CASE("of more samples than are kept all but the median is exact", "[analysis][property]") {
  const std::uint64_t seed = rangefinder::testing::property_seed("counted samples");
  INFO("RANGEFINDER_SEED=" << seed);
  std::mt19937_64 random(seed);
  constexpr std::uint32_t kGroups = 5;
  GroupedSamples kept, counted(1'000);
  for (int i = 0; i < 200'000; ++i) {
    const auto group = static_cast<std::uint32_t>(random() % (kGroups - 1));  // the last one has none
    const auto value = static_cast<std::int64_t>(random() % (std::uint64_t{1} << (4 + 12 * group)));
    kept.add(group, value);
    counted.add(group, value);
  }
  CHECK(kept.is_exact());
  CHECK_FALSE(counted.is_exact());
  CHECK(counted.memory_bytes() < kept.memory_bytes());
  const std::vector<Spread> exact = kept.spreads(kGroups), near = counted.spreads(kGroups);
  for (std::uint32_t group = 0; group < kGroups; ++group) {
    INFO(group);
    CHECK(near[group].count == exact[group].count);
    CHECK(near[group].total == exact[group].total);
    CHECK(near[group].min == exact[group].min);
    CHECK(near[group].max == exact[group].max);
    CHECK(near[group].standard_deviation(1) == exact[group].standard_deviation(1));
    const auto difference = near[group].median(0) - exact[group].median(0);
    CHECK(std::abs(difference) <= exact[group].median(0) / 1'000);
  }
}

TEST_CASE("the median is that of a sorted list", "[analysis][property]") {
  const std::uint64_t seed = GENERATE(from_range(rangefinder::testing::property_seeds("median", 3)));
  INFO("RANGEFINDER_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> samples(1 + random() % 12);
    for (std::int64_t& sample : samples) sample = static_cast<std::int64_t>(random() % 20);
    std::vector<std::int64_t> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    CHECK(spread_of(samples).median_twice == sorted[(n - 1) / 2] + sorted[n / 2]);
  }
}
