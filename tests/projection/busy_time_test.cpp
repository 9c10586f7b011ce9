// SPDX-License-Identifier: MIT
#include "projection/busy_time.hpp"

#include "base/intervals.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

using namespace rangefinder;

TEST_CASE("busy time is the length of the union, in whatever order intervals come", "[projection][property]") {
  std::mt19937_64 random(testing::property_seed("busy time"));
  for (int round = 0; round < 500; ++round) {
    projection::BusyTime busy;
    std::vector<base::Interval> all;
    std::int64_t sum = 0, settled = 0;
    for (std::uint64_t n = random() % 60; n > 0; --n) {
      const std::int64_t begin = settled + static_cast<std::int64_t>(random() % 200);
      const std::int64_t end = begin + static_cast<std::int64_t>(random() % 30);
      sum += busy.add(begin, end);
      all.push_back({begin, end});
      if (random() % 4 == 0) busy.settle(settled += static_cast<std::int64_t>(random() % 40));
    }
    const std::int64_t whole = base::sort_and_union_length(all);
    CHECK(sum == whole);
    // What lies behind a time that has not been settled.
    const std::int64_t cut = settled + static_cast<std::int64_t>(random() % 100);
    std::vector<base::Interval> until;
    for (const base::Interval& each : all)
      if (each.begin < cut) until.push_back({each.begin, std::min(each.end, cut)});
    CHECK(sum - busy.behind(cut) == base::sort_and_union_length(until));
  }
}

TEST_CASE("long after long, busy time keeps no more than the newest stretches", "[projection]") {
  projection::BusyTime busy;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < 100'000; ++i) sum += busy.add(10 * i, 10 * i + 4);
  CHECK(sum == 400'000);
  CHECK(busy.add(0, 10) == 0);  // too far behind to be known
}
