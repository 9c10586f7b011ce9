// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <map>
#include <random>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("arguments are found by the row that they came from", "[timeline]") {
  ArgumentStore store;
  CHECK(store.empty());
  CHECK(store.find(0).empty());
  store.add(3, "\"a\":1");
  store.add(4, "");
  store.add(900, "\"b\":2");
  CHECK_FALSE(store.empty());
  CHECK(store.find(3) == "\"a\":1");
  CHECK(store.find(4).empty());
  CHECK(store.find(5).empty());
  CHECK(store.find(2).empty());
  CHECK(store.find(900) == "\"b\":2");
  CHECK(store.find(901).empty());
}

TEST_CASE("arguments may come in any order and of any length", "[timeline]") {
  std::mt19937_64 random(property_seed("arguments"));
  ArgumentStore store;
  std::map<std::int64_t, std::string> expected;
  std::int64_t row = 0;
  std::uint64_t text_bytes = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool is_late = below(random, 50) == 0;
    row += is_late ? 0 : static_cast<std::int64_t>(1 + below(random, below(random, 8) == 0 ? 100'000 : 3));
    const std::int64_t here =
        is_late ? static_cast<std::int64_t>(below(random, static_cast<std::uint64_t>(row) + 1)) : row;
    std::string text(below(random, 500) == 0 ? 700'000 : below(random, 200), 'x');
    if (!text.empty()) text += std::to_string(here);
    if (expected.count(here) != 0) continue;
    store.add(here, text);
    text_bytes += text.size();
    expected[here] = text;
  }
  store.sort();
  for (const auto& [at, text] : expected) REQUIRE(store.find(at) == text);
  CHECK(store.find(row + 1).empty());
  CHECK(store.bytes() < text_bytes + 10 * expected.size());
}
