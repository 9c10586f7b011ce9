// SPDX-License-Identifier: MIT
#include "exporter/chrome/mostly_one.hpp"

#include "support/catch.hpp"

using rangefinder::chrome::MostlyOne;

TEST_CASE("a list that mostly has one item has any number of them, in order", "[exporter]") {
  MostlyOne<int> list;
  CHECK(list.size() == 0);
  CHECK_FALSE(list.is_one());
  CHECK(list.find([](int) { return true; }) == nullptr);
  list.add(7);
  CHECK(list.is_one());
  CHECK(list[0] == 7);
  for (const int each : {8, 9}) list.add(each) += 10;
  REQUIRE(list.size() == 3);
  CHECK_FALSE(list.is_one());
  CHECK(list[1] == 18);
  CHECK(list[2] == 19);
  CHECK(list.find([](int each) { return each > 7; }) == &list[1]);
  list.clear();
  CHECK(list.size() == 0);
  list.add(1);
  CHECK(list.is_one());
  CHECK(list[0] == 1);
}
