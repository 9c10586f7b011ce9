// SPDX-License-Identifier: MIT
#include "analysis/nsight/containment.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <rangefinder/types.hpp>

#include <algorithm>
#include <random>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis::nsight;
using base::Interval;

namespace {

bool around(const Interval& outer, const Interval& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

std::uint32_t slow_tightest(const std::vector<Interval>& containers, const Interval& query, std::uint32_t except) {
  std::uint32_t best = kNone;
  for (std::uint32_t i = 0; i < containers.size(); ++i) {
    if (i == except || !around(containers[i], query)) continue;
    const auto length = [&](std::uint32_t at) { return containers[at].end - containers[at].begin; };
    if (best == kNone || length(i) < length(best)) best = i;
  }
  return best;
}

std::vector<Interval> random_intervals(std::mt19937_64& random, std::size_t count) {
  std::vector<Interval> out(random() % (count + 1));
  for (Interval& interval : out) {
    interval.begin = static_cast<std::int64_t>(random() % 20);
    interval.end = interval.begin + static_cast<std::int64_t>(random() % 12);
  }
  return out;
}

}  // namespace

TEST_CASE("both ends of a container count", "[analysis]") {
  const std::vector<Interval> containers{{10, 20}};
  CHECK(tightest_around(containers, std::vector<Interval>{{10, 20}, {9, 20}, {10, 21}, {15, 15}, {20, 20}}) ==
        std::vector<std::uint32_t>{0, kNone, kNone, 0, 0});
}

TEST_CASE("equal intervals are each other's parent", "[analysis]") {
  CHECK(tightest_parents(std::vector<Interval>{{0, 100}, {10, 20}, {10, 20}, {12, 15}}) ==
        std::vector<std::uint32_t>{kNone, 2, 1, 1});
}

TEST_CASE("nothing is inside nothing", "[analysis]") {
  CHECK(tightest_parents({}).empty());
  CHECK(tightest_around({}, std::vector<Interval>{{1, 2}}) == std::vector<std::uint32_t>{kNone});
  CHECK(work_inside({}, std::vector<CausedWork>{{{1, 2}, 3, 4}}).empty());
  CHECK(work_inside(std::vector<Interval>{{1, 2}}, {})[0].count == 0);
  CHECK_FALSE(any_around({}, std::vector<Interval>{{1, 2}})[0]);
}

TEST_CASE("containment equals a comparison of every pair", "[analysis][property]") {
  const std::uint64_t seed = GENERATE(from_range(rangefinder::testing::property_seeds("containment", 5)));
  INFO("RANGEFINDER_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 400; ++round) {
    const std::vector<Interval> containers = random_intervals(random, 14), queries = random_intervals(random, 14);
    const auto parents = tightest_parents(containers);
    for (std::uint32_t i = 0; i < containers.size(); ++i)
      CHECK(parents[i] == slow_tightest(containers, containers[i], i));
    const auto tightest = tightest_around(containers, queries);
    const auto any = any_around(containers, queries);
    std::vector<CausedWork> work;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      CHECK(tightest[i] == slow_tightest(containers, queries[i], kNone));
      CHECK(any[i] == (tightest[i] != kNone));
      const auto first = static_cast<std::int64_t>(random() % 50);
      work.push_back({queries[i], first, first + static_cast<std::int64_t>(random() % 9)});
    }
    const auto sums = work_inside(containers, work);
    for (std::size_t i = 0; i < containers.size(); ++i) {
      ContainedWork expected;
      for (const CausedWork& item : work) {
        if (!around(containers[i], item.cause)) continue;
        expected.first_ns = expected.count == 0 ? item.first_ns : std::min(expected.first_ns, item.first_ns);
        expected.last_ns = expected.count == 0 ? item.last_ns : std::max(expected.last_ns, item.last_ns);
        ++expected.count;
      }
      CHECK(sums[i].count == expected.count);
      CHECK(sums[i].first_ns == expected.first_ns);
      CHECK(sums[i].last_ns == expected.last_ns);
    }
  }
}
