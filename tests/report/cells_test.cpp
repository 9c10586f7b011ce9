// SPDX-License-Identifier: MIT
#include "report/cells.hpp"

#include "support/catch.hpp"
#include "support/resident_memory.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using rangefinder::report::Cells;
using rangefinder::report::kNull;
using namespace rangefinder::testing;

namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min() + 1;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

/// Every value comes back, at whatever row a block ends. Every third row is filled at once.
void check_kept(const std::vector<std::vector<std::int64_t>>& rows) {
  Cells cells(rows.front().size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (row % 3 == 0) cells.add_row();
    for (std::size_t column = 0; column < rows[row].size(); ++column)
      row % 3 == 0 ? cells.set(column, rows[row][column]) : cells.push_back(rows[row][column]);
    REQUIRE(cells.rows() == row + 1);
  }
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t column = 0; column < rows[row].size(); ++column)
      REQUIRE(cells.at(row, column) == rows[row][column]);
}

}  // namespace

TEST_CASE("cells keep every number, and nothing beside it", "[report]") {
  // A column each: what differs by just as much as a size of cell can tell, or by one more.
  const std::int64_t ends[][2] = {{7, 7},           {0, 253},
                                  {0, 254},         {0, 255},
                                  {-3, 0xFFFB},     {-3, 0xFFFC},
                                  {5, 0x100000002}, {5, 0x100000003},
                                  {5, 0x100000004}, {kLeast, kMax},
                                  {kMax, kMax},     {kLeast, kLeast},
                                  {kMax - 1, kMax}, {kLeast, kLeast + 1}};
  const bool with_nulls = GENERATE(false, true);
  std::vector<std::vector<std::int64_t>> rows;
  for (int row = 0; row < 1'000; ++row) {
    rows.emplace_back();
    for (const auto& [low, high] : ends)
      rows.back().push_back(with_nulls && row % 3 == 0 ? kNull : row % 2 == 0 ? low : high);
    rows.back().push_back(kNull);
  }
  check_kept(rows);
}

TEST_CASE("cells keep random numbers of any size", "[report][property]") {
  for (const std::uint64_t seed : property_seeds("cells", repeats(200))) {
    std::mt19937_64 random(seed);
    INFO("RANGEFINDER_SEED=" << seed);
    std::vector<std::vector<std::int64_t>> rows(1 + below(random, 700));
    const std::size_t columns = 1 + below(random, 5);
    const auto bits = static_cast<unsigned>(1 + below(random, 64));
    for (std::vector<std::int64_t>& row : rows)
      for (std::size_t column = 0; column < columns; ++column)
        row.push_back(below(random, 8) == 0 ? kNull : static_cast<std::int64_t>(any_size(random, bits)));
    check_kept(rows);
  }
}

TEST_CASE("cells that differ little take little memory", "[report]") {
  if (!resident_memory_counts()) RANGEFINDER_SKIP("resident memory says nothing under a sanitizer");
  constexpr std::int64_t kRows = 500'000;
  constexpr std::size_t kColumns = 10;
  const std::int64_t before = resident_bytes();
  Cells cells(kColumns);
  for (std::int64_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < kColumns; ++column) cells.push_back(1'000'000'000'000 + row);
  const std::int64_t growth = resident_bytes() - before;
  REQUIRE(cells.at(kRows - 1, 3) == 1'000'000'000'000 + kRows - 1);
  CHECK(growth < kRows * static_cast<std::int64_t>(kColumns) * 3);
}
