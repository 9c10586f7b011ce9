// SPDX-License-Identifier: MIT
#include "base/descending.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

using rangefinder::base::Descending;

TEST_CASE("a part of a key goes down, the least integer last", "[base]") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(), kMost = -(kLeast + 1);
  std::vector<std::tuple<int, std::int64_t>> rows{{1, kLeast}, {2, 0}, {1, kMost}, {1, 0}, {2, kLeast}, {1, -1}};
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::tuple(std::get<0>(a), Descending{std::get<1>(a)}) <
           std::tuple(std::get<0>(b), Descending{std::get<1>(b)});
  });
  CHECK(rows ==
        std::vector<std::tuple<int, std::int64_t>>{{1, kMost}, {1, 0}, {1, -1}, {1, kLeast}, {2, 0}, {2, kLeast}});
  CHECK(Descending{3} == Descending{3});
}
