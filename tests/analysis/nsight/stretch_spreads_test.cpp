// SPDX-License-Identifier: MIT
#include "analysis/nsight/stretch_spreads.hpp"

#include "analysis/spread.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace rangefinder::analysis;
using namespace rangefinder::analysis::nsight;
using rangefinder::testing::any_size;
using rangefinder::testing::below;

namespace {

void check_same(const Spread& fast, const Spread& slow) {
  CHECK(fast.count == slow.count);
  CHECK((fast.total == slow.total));
  CHECK(fast.min == slow.min);
  CHECK(fast.max == slow.max);
  CHECK((fast.median_twice == slow.median_twice));
  CHECK(static_cast<double>(fast.deviation) == Approx(static_cast<double>(slow.deviation)).epsilon(1e-9));
}

}  // namespace

TEST_CASE("spreads of stretches are those of all samples in them", "[analysis][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("stretches"));
  for (int round = rangefinder::testing::repeats(400); round > 0; --round) {
    std::vector<std::int64_t> samples(1 + below(random, 200));
    const auto bits = static_cast<unsigned>(below(random, 62));
    for (std::int64_t& sample : samples) sample = static_cast<std::int64_t>(any_size(random, bits));
    const StretchSpreads spreads(samples);
    std::vector<Stretch> stretches(1 + below(random, 6));  // some overlap, some are equal
    std::vector<std::int64_t> gathered;
    for (Stretch& stretch : stretches) {
      stretch.first = below(random, samples.size());
      stretch.last = stretch.first + 1 + below(random, samples.size() - stretch.first);
      for (std::size_t at = stretch.first; at < stretch.last; ++at) gathered.push_back(samples[at]);
    }
    check_same(spreads.of(stretches), spread_of(gathered));
  }
}

TEST_CASE("spreads hold from the least number to the greatest", "[analysis]") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> samples{kMax, kLeast, kMax, kLeast, 0};
  const StretchSpreads spreads(samples);
  std::vector<Stretch> all{{0, samples.size()}};
  check_same(spreads.of(all), spread_of(samples));
}

TEST_CASE("no stretch has no spread", "[analysis]") {
  const std::vector<std::int64_t> samples{1, 2};
  CHECK(StretchSpreads(samples).of({}).count == 0);
  CHECK(StretchSpreads({}).of({}).count == 0);
}
