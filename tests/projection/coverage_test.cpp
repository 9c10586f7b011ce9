// SPDX-License-Identifier: MIT
#include "projection/coverage.hpp"

#include "projection/flat_map.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

using namespace rangefinder::projection;

TEST_CASE("every instant belongs to the latest interval that covers it", "[projection][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("coverage"));
  for (int round = 0; round < 400; ++round) {
    const int length = round % 4 == 0 ? 4000 : 200;
    const int count = round % 4 == 0 ? 1500 : 60;
    std::vector<std::int64_t> painted(static_cast<std::size_t>(length) + 100, -1);
    std::vector<std::int64_t> covered(static_cast<std::size_t>(count), 0);
    Coverage coverage;
    std::int64_t horizon = 0;
    const bool trims = round % 2 == 0;
    for (int position = 0; position < count; ++position) {
      if (trims && random() % 10 == 0) {
        horizon += static_cast<std::int64_t>(random() % 5);
        coverage.forget_before(horizon);
      }
      const auto begin = horizon + static_cast<std::int64_t>(random() % static_cast<unsigned>(length - horizon));
      const std::int64_t end = begin + static_cast<std::int64_t>(random() % (random() % 4 == 0 ? 90 : 9));
      std::int64_t added = end - begin;
      coverage.cover(begin, end, static_cast<std::uint32_t>(position), [&](std::uint32_t earlier, std::int64_t taken) {
        REQUIRE(earlier < static_cast<std::uint32_t>(position));
        REQUIRE(taken > 0);
        covered[earlier] -= taken;
      });
      covered[static_cast<std::size_t>(position)] += added;
      std::fill(painted.begin() + begin, painted.begin() + end, position);
    }
    std::vector<std::int64_t> expected(static_cast<std::size_t>(count), 0);
    for (const std::int64_t owner : painted)
      if (owner >= 0) ++expected[static_cast<std::size_t>(owner)];
    REQUIRE(covered == expected);
  }
}

TEST_CASE("coverage in falling order stays exact over many pieces", "[projection]") {
  Coverage coverage;
  std::int64_t taken_in_all = 0;
  for (std::uint32_t position = 0; position < 3000; ++position) {
    const std::int64_t begin = 100000 - 10 * static_cast<std::int64_t>(position);
    coverage.cover(begin, begin + 15, position, [&](std::uint32_t, std::int64_t taken) { taken_in_all += taken; });
  }
  CHECK(taken_in_all == 5 * 2999);
  coverage.clear();
  coverage.cover(0, 10, 1, [](std::uint32_t, std::int64_t) { FAIL("nothing was there"); });
}

TEST_CASE("the flat map is a map", "[projection][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("flat map"));
  FlatMap map;
  std::unordered_map<std::uint64_t, std::uint32_t> expected;
  const auto steps = static_cast<std::uint32_t>(rangefinder::testing::repeats(200'000));
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::uint64_t id = random() % 3 == 0 ? random() % 50 : (random() % 5000) << (random() % 2 * 40);
    if (random() % 2 == 0) {
      map.set(id, step);
      expected[id] = step;
    } else {
      map.erase(id);
      expected.erase(id);
    }
    const std::uint64_t asked = random() % 5000;
    const auto found = expected.find(asked);
    REQUIRE(map.find(asked) == (found == expected.end() ? FlatMap::kAbsent : found->second));
  }
  CHECK(map.size() == expected.size());
}

TEST_CASE("the flat map keeps what was put there first where that is asked for", "[projection][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("flat map, first"));
  FlatMap map;
  std::unordered_map<std::uint64_t, std::uint32_t> expected;
  const auto steps = static_cast<std::uint32_t>(rangefinder::testing::repeats(50'000));
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::uint64_t id = (random() % 5000) << (random() % 2 * 40);
    REQUIRE(map.find_or_set(id, step) == expected.try_emplace(id, step).first->second);
  }
  CHECK(map.size() == expected.size());
}
