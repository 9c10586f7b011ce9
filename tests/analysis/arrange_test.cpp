// SPDX-License-Identifier: MIT
#include "analysis/arrange.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using rangefinder::analysis::arrange;

TEST_CASE("rows are put in the order that is asked for", "[analysis]") {
  std::vector<std::string> rows{"a", "b", "c", "d", "e"};
  arrange(rows, {3, 1, 0, 4, 2});
  CHECK(rows == std::vector<std::string>{"d", "b", "a", "e", "c"});
  std::vector<std::string> none;
  arrange(none, {});
  CHECK(none.empty());
}

TEST_CASE("any order of rows comes out", "[analysis][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("arrange"));
  for (int round = rangefinder::testing::repeats(300); round > 0; --round) {
    std::vector<std::uint32_t> order(rangefinder::testing::below(random, 40));
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::uint32_t> rows(order.size()), expected;
    for (std::uint32_t& row : rows) row = static_cast<std::uint32_t>(random());
    for (const std::uint32_t row : order) expected.push_back(rows[row]);
    arrange(rows, order);
    REQUIRE(rows == expected);
  }
}
