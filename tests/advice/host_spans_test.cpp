// SPDX-License-Identifier: MIT
#include "advice/host_spans.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cstdint>
#include <limits>
#include <random>
#include <set>

using rangefinder::kNone;
using rangefinder::ThreadIndex;
using rangefinder::advice::HostSpans;

TEST_CASE("spans that overlap cover their time once", "[advice]") {
  HostSpans spans;
  spans.add(ThreadIndex{0}, 100, 200);
  spans.add(ThreadIndex{0}, 150, 250);
  spans.add(ThreadIndex{1}, 0, 1000);
  spans.finish();
  CHECK(spans.covered_ns(ThreadIndex{0}, 0, 1000) == 150);
  CHECK(spans.covered_ns(ThreadIndex{0}, 240, 1000) == 10);
  CHECK(spans.covered_ns(ThreadIndex{0}, 250, 1000) == 0);
  CHECK(spans.covered_ns(ThreadIndex{2}, 0, 1000) == 0);
  CHECK(spans.total_ns() == 1150);
}

TEST_CASE("spans of no thread, without length, or of times that no clock has are harmless", "[advice]") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  HostSpans spans;
  spans.add(kNone, 0, 10);
  spans.add(ThreadIndex{0}, 10, 10);
  spans.add(ThreadIndex{0}, 20, 10);
  CHECK(spans.empty());
  spans.add(ThreadIndex{0}, kLeast, kMost);
  spans.finish();
  CHECK(spans.covered_ns(ThreadIndex{0}, 5, 10) == 5);
  CHECK(spans.covered_ns(ThreadIndex{0}, kLeast, kMost) > 0);
}

TEST_CASE("what spans cover equals a count of every nanosecond", "[advice][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("host spans"));
  for (int round = 0; round < 200; ++round) {
    HostSpans spans;
    std::set<std::int64_t> covered;
    for (int i = 0; i < 12; ++i) {
      const auto begin = static_cast<std::int64_t>(random() % 200);
      const auto end = begin + static_cast<std::int64_t>(random() % 40);
      spans.add(ThreadIndex{0}, begin, end);
      for (std::int64_t ns = begin; ns < end; ++ns) covered.insert(ns);
    }
    spans.finish();
    for (int i = 0; i < 20; ++i) {
      const auto begin = static_cast<std::int64_t>(random() % 250);
      const auto end = static_cast<std::int64_t>(random() % 250);
      const auto from = covered.lower_bound(begin), to = covered.lower_bound(end);
      const std::int64_t expected = begin < end ? std::distance(from, to) : 0;
      REQUIRE(spans.covered_ns(ThreadIndex{0}, begin, end) == expected);
    }
  }
}
