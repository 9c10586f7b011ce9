// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <rangefinder/detail/cells.hpp>

#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

using rangefinder::detail::Cells;

namespace {

std::vector<int> values_in(const Cells<int>& cells) { return {cells.begin(), cells.end()}; }

}  // namespace

TEST_CASE("cells keep what they hold as they grow, are copied and are moved", "[timeline]") {
  Cells<int> cells;
  std::vector<int> expected;
  for (int i = 0; i < 10'000; ++i) {
    cells.push_back(i);
    expected.push_back(i);
  }
  CHECK(values_in(cells) == expected);
  const Cells<int> copy = cells;
  cells[0] = -1;
  CHECK(values_in(copy) == expected);
  Cells<int> moved = std::move(cells);
  CHECK(moved.size() == 10'000);
  CHECK(moved[0] == -1);
  moved = copy;
  CHECK(values_in(moved) == expected);
}

TEST_CASE("cells that become more are filled, and those that become fewer come back filled", "[timeline]") {
  Cells<int> cells;
  cells.resize(3, 7);
  cells.resize(1, 0);
  cells.resize(4, 5);
  CHECK(values_in(cells) == std::vector<int>{7, 5, 5, 5});
  cells.clear();
  CHECK(cells.empty());
  CHECK(cells.begin() == cells.end());
}

TEST_CASE("cells without memory stay as they are", "[timeline]") {
  Cells<std::uint64_t> cells;
  cells.push_back(1);
  CHECK_THROWS_AS(cells.reserve(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
  REQUIRE(cells.size() == 1);
  CHECK(cells[0] == 1);
}
