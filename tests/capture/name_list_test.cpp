// SPDX-License-Identifier: MIT
#include "capture/name_list.hpp"

#include "support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

using rangefinder::capture::NameList;

TEST_CASE("a name list holds names by any numbers, of each the last, and empty ones too", "[capture]") {
  NameList names;
  const std::vector<std::pair<rangefinder::format::NameId, std::string>> given = {
      {3, "three"}, {0xFFFFFFFFu, "last"}, {1, ""}, {1u << 20, "far"}, {(1u << 20) - 1, "near"}, {3, "3"}};
  for (const auto& [id, text] : given) names.set(id, text);
  CHECK(names.size() == 5);
  REQUIRE(names.find(3) != nullptr);
  CHECK(*names.find(3) == "3");
  REQUIRE(names.find(1) != nullptr);
  CHECK(names.find(1)->empty());
  for (const rangefinder::format::NameId id : {0u, 2u, (1u << 20) + 1, 0xFFFFFFFEu}) CHECK(names.find(id) == nullptr);
  std::string all;
  names.for_each(
      [&](rangefinder::format::NameId id, const std::string& text) { all += std::to_string(id) + "=" + text + " "; });
  CHECK(all == "1= 3=3 1048575=near 1048576=far 4294967295=last ");
}
