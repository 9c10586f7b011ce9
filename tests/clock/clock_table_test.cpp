// SPDX-License-Identifier: MIT
#include "clock/clock_table.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

using namespace rangefinder::clock;
using namespace rangefinder::testing;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kOffset = 1'700'000'000 * kSecond;

/// Points of a clock of `rate` ticks a second whose wall clock runs fast by `drift_ppm`.
std::vector<ClockPoint> regular(std::uint64_t rate, int count, std::int64_t drift_ppm = 0) {
  std::vector<ClockPoint> points;
  for (int i = 0; i < count; ++i) {
    const std::int64_t at = i * kSecond;
    points.push_back({1'000 + static_cast<std::uint64_t>(i) * rate, 5 * kSecond + at,
                      kOffset + at + at / 1'000'000 * drift_ppm, 100});
  }
  return points;
}

/// The line through two points, in exact arithmetic.
std::int64_t between(const ClockPoint& a, const ClockPoint& b, std::uint64_t ticks) {
  const __int128 length = b.monotonic_ns - a.monotonic_ns;
  const __int128 since = static_cast<__int128>(ticks) - a.ticks;
  return static_cast<std::int64_t>(a.monotonic_ns + length * since / static_cast<__int128>(b.ticks - a.ticks));
}

}  // namespace

TEST_CASE("ticks become nanoseconds on the line between the points around them", "[clock]") {
  const ClockTable table(regular(2'000'000'000, 3), 1);
  CHECK(table.monotonic_of_ticks(1'000) == 5 * kSecond);
  CHECK(table.monotonic_of_ticks(1'000 + 2'000) == 5 * kSecond + 1'000);
  CHECK(table.monotonic_of_ticks(1'000 + 2'000'000'000) == 6 * kSecond);
  // Outside, the rate of the whole goes on.
  CHECK(table.monotonic_of_ticks(0) == 5 * kSecond - 500);
  CHECK(table.monotonic_of_ticks(1'000 + 20'000'000'000) == 15 * kSecond);
  CHECK(table.realtime_offset_ns() == kOffset - 5 * kSecond);
  CHECK(table.realtime_steps() == 0);
}

TEST_CASE("with one point or none the nominal rate serves", "[clock]") {
  const ClockTable one({{10, 1'000, 5'000, 0}}, 500'000'000);
  CHECK(one.monotonic_of_ticks(20) == 1'020);
  CHECK(one.monotonic_of_ticks(0) == 980);
  CHECK(one.monotonic_of_realtime(5'007) == 1'007);
  const ClockTable none({}, 0);
  CHECK(none.monotonic_of_ticks(7) == 7);
  CHECK(none.monotonic_of_realtime(-7) == -7);
}

TEST_CASE("points out of order, backwards or beyond belief are not used", "[clock]") {
  std::vector<ClockPoint> points = regular(1'000'000'000, 4);
  const ClockTable sound(points, 1);
  points.push_back({points[1].ticks, 1, 1, 1});                                 // a second reading of one tick
  points.push_back({points[1].ticks + 5, points[0].monotonic_ns, kOffset, 1});  // monotonic time runs back
  points.push_back({points[3].ticks + 5, std::numeric_limits<std::int64_t>::max(), kOffset, 1});
  points.push_back({points[3].ticks + 6, 9 * kSecond, std::numeric_limits<std::int64_t>::min(), 1});
  std::reverse(points.begin(), points.begin() + 4);
  const ClockTable table(points, 1);
  for (std::uint64_t ticks = 0; ticks < 5'000'000'000; ticks += 777'777'777)
    CHECK(table.monotonic_of_ticks(ticks) == sound.monotonic_of_ticks(ticks));
  CHECK(table.realtime_steps() == 0);
}

TEST_CASE("a drift of the wall clock is followed", "[clock]") {
  const std::vector<ClockPoint> points = regular(1'000'000'000, 5, 400);
  const ClockTable table(points, 1);
  CHECK(table.realtime_steps() == 0);
  for (const ClockPoint& point : points) CHECK(table.monotonic_of_realtime(point.realtime_ns) == point.monotonic_ns);
  // Halfway between two points half of what the offset moves by.
  CHECK(std::llabs(table.monotonic_of_realtime(points[1].realtime_ns + 500'200'000) -
                   (points[1].monotonic_ns + 500'000'000)) <= 1);
  CHECK(table.error_bound_ns() == 50 + 400'000);  // half a bracket, and the drift in a second
}

TEST_CASE("the error bound is half of the widest bracket", "[clock]") {
  std::vector<ClockPoint> points = regular(1'000'000'000, 5);
  CHECK(ClockTable(points, 1).error_bound_ns() == 50);
  points[3].width_ns = 2'001;
  CHECK(ClockTable(points, 1).error_bound_ns() == 1'001);
}

TEST_CASE("a wall clock that is set makes runs, and times belong to the run that covers them", "[clock]") {
  std::vector<ClockPoint> points = regular(1'000'000'000, 6);
  const auto set_from = [&](std::size_t first, std::int64_t by) {
    for (std::size_t i = first; i < points.size(); ++i) points[i].realtime_ns += by;
  };
  SECTION("forward") {
    set_from(3, 100 * kSecond);
    const ClockTable table(points, 1);
    CHECK(table.realtime_steps() == 1);
    CHECK(table.monotonic_of_realtime(points[2].realtime_ns + 10) == points[2].monotonic_ns + 10);
    CHECK(table.monotonic_of_realtime(points[3].realtime_ns + 10) == points[3].monotonic_ns + 10);
    // No run covers it: the nearer one.
    CHECK(table.monotonic_of_realtime(points[2].realtime_ns + 30 * kSecond) == points[2].monotonic_ns + 30 * kSecond);
    CHECK(table.monotonic_of_realtime(points[3].realtime_ns - 30 * kSecond) == points[3].monotonic_ns - 30 * kSecond);
    CHECK(table.error_bound_ns() == 50);  // a step is no error of what lies beside it
  }
  SECTION("back") {
    set_from(3, -100 * kSecond);
    const ClockTable table(points, 1);
    CHECK(table.realtime_steps() == 1);
    CHECK(table.monotonic_of_realtime(points[1].realtime_ns) == points[1].monotonic_ns);
    CHECK(table.monotonic_of_realtime(points[4].realtime_ns) == points[4].monotonic_ns);
  }
  SECTION("back by less than the recording: the later run counts") {
    set_from(3, -2 * kSecond);
    const ClockTable table(points, 1);
    CHECK(table.realtime_steps() == 1);
    CHECK(table.monotonic_of_realtime(points[3].realtime_ns + 5) == points[3].monotonic_ns + 5);
    CHECK(table.monotonic_of_realtime(points[0].realtime_ns + 5) == points[0].monotonic_ns + 5);
  }
  SECTION("twice") {
    set_from(2, 50 * kSecond);
    set_from(4, -70 * kSecond);
    CHECK(ClockTable(points, 1).realtime_steps() == 2);
  }
}

TEST_CASE("results are limited, so that differences of any two fit", "[clock]") {
  const auto latest = ClockTable::kLatestNs;
  const ClockTable table({{0, latest - 10, latest - 10, 0}, {1, latest, latest, 0}}, 1);
  CHECK(table.monotonic_of_ticks(~std::uint64_t{0}) == latest);
  CHECK(table.monotonic_of_realtime(std::numeric_limits<std::int64_t>::max()) == latest);
  const ClockTable slow({{~std::uint64_t{0}, -latest, -latest, 0}}, 1);
  CHECK(slow.monotonic_of_ticks(0) == -latest);
  CHECK(slow.monotonic_of_realtime(std::numeric_limits<std::int64_t>::min()) == -latest);
}

TEST_CASE("the table equals exact arithmetic", "[clock][property]") {
  std::mt19937_64 random(property_seed("clock table"));
  for (int round = 0; round < 500; ++round) {
    const std::uint64_t rate = 1'000'000 + any_size(random, 32);
    std::vector<ClockPoint> points;
    ClockPoint point{any_size(random, 50), static_cast<std::int64_t>(any_size(random, 55)), kOffset, 0};
    const std::int64_t begin = point.monotonic_ns - point.realtime_ns;
    std::int64_t drift = 0;
    for (std::uint64_t n = 2 + random() % 20; n > 0; --n) {
      points.push_back(point);
      const auto passed = static_cast<std::int64_t>(1'000'000 + random() % (5 * kSecond));
      point.monotonic_ns += passed;
      drift += static_cast<std::int64_t>(random() % 1000) * (passed / 1'000'000) - 500 * (passed / 1'000'000);
      point.realtime_ns = point.monotonic_ns - begin + drift;
      // The counter is not quite as fast as it says either.
      const auto ticks = static_cast<unsigned __int128>(passed) * rate / 1'000'000'000u;
      point.ticks += static_cast<std::uint64_t>(ticks) + 1 + random() % 100;
      point.width_ns = static_cast<std::uint32_t>(random() % 500);
    }
    const ClockTable table(points, rate);
    CHECK(table.realtime_steps() == 0);
    std::size_t segment = 0, wall_segment = 0;
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      const ClockPoint &a = points[i], &b = points[i + 1];
      std::vector<std::uint64_t> ticks{a.ticks, b.ticks - 1};
      for (int n = 0; n < 20; ++n) ticks.push_back(a.ticks + random() % (b.ticks - a.ticks));
      std::sort(ticks.begin(), ticks.end());
      for (const std::uint64_t at : ticks) {
        const std::int64_t ns = table.monotonic_of_ticks(at);
        CHECK(std::llabs(ns - between(a, b, at)) <= 1);
        CHECK(table.monotonic_of_ticks(at, segment) == ns);
        CHECK(ns >= last);  // time does not run back, at the points either
        last = ns;
      }
      const std::int64_t wall =
          a.realtime_ns +
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(b.realtime_ns - a.realtime_ns));
      const __int128 exact = a.monotonic_ns + static_cast<__int128>(b.monotonic_ns - a.monotonic_ns) *
                                                  (wall - a.realtime_ns) / (b.realtime_ns - a.realtime_ns);
      CHECK(std::llabs(table.monotonic_of_realtime(wall) - static_cast<std::int64_t>(exact)) <= 1);
      CHECK(table.monotonic_of_realtime(wall, wall_segment) == table.monotonic_of_realtime(wall));
    }
  }
}

TEST_CASE("wall times between points far apart equal exact arithmetic", "[clock][property]") {
  // A drift times a distance is more than 64 bits hold from 100 seconds on.
  std::mt19937_64 random(property_seed("clock table far apart"));
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t passed = static_cast<std::int64_t>(1'000'000 + any_size(random, 53));
    const std::int64_t drift = (static_cast<std::int64_t>(random() % 1000) - 500) * (passed / 1'000'000);
    const std::int64_t begin = static_cast<std::int64_t>(any_size(random, 55));
    const ClockTable table({{1, begin, kOffset, 0}, {2, begin + passed, kOffset + passed + drift, 0}}, 1);
    REQUIRE(table.realtime_steps() == 0);
    std::size_t segment = 0;
    for (int n = 0; n < 10; ++n) {
      const auto since = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(passed + drift));
      const __int128 exact = begin + static_cast<__int128>(passed) * since / (passed + drift);
      CHECK(std::llabs(table.monotonic_of_realtime(kOffset + since) - static_cast<std::int64_t>(exact)) <= 1);
      CHECK(table.monotonic_of_realtime(kOffset + since, segment) == table.monotonic_of_realtime(kOffset + since));
    }
  }
}

TEST_CASE("any points at all give some table", "[clock][property]") {
  std::mt19937_64 random(property_seed("any points"));
  for (int round = 0; round < 2000; ++round) {
    std::vector<ClockPoint> points(any_size(random, 5));
    for (ClockPoint& point : points) {
      point = {any_size(random), static_cast<std::int64_t>(any_size(random)),
               static_cast<std::int64_t>(any_size(random)), static_cast<std::uint32_t>(any_size(random, 32))};
      if (random() % 4 == 0) point.monotonic_ns = -point.monotonic_ns, point.realtime_ns = ~point.realtime_ns;
    }
    const ClockTable table(points, any_size(random));
    std::size_t segment = 0, wall_segment = 0;
    for (int n = 0; n < 10; ++n) {
      const std::uint64_t ticks =
          points.empty() || n % 2 != 0 ? any_size(random) : points[static_cast<std::size_t>(n) % points.size()].ticks;
      CHECK(table.monotonic_of_ticks(ticks, segment) == table.monotonic_of_ticks(ticks));
      const auto within = [](std::int64_t ns) { return ns >= -ClockTable::kLatestNs && ns <= ClockTable::kLatestNs; };
      CHECK(within(table.monotonic_of_ticks(any_size(random))));
      const std::int64_t wall = points.empty() || n % 2 != 0
                                    ? static_cast<std::int64_t>(random())
                                    : points[static_cast<std::size_t>(n) % points.size()].realtime_ns;
      CHECK(within(table.monotonic_of_realtime(wall)));
      CHECK(table.monotonic_of_realtime(wall, wall_segment) == table.monotonic_of_realtime(wall));
    }
    CHECK(table.error_bound_ns() >= 0);
  }
}
