// SPDX-License-Identifier: MIT
#include "exporter/chrome/time_base.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <limits>

using namespace rangefinder::chrome;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kWeek = std::int64_t{7} * 24 * 3600 * kSecond;
constexpr std::int64_t kNow = 1'795'000'000 * kSecond;  // wall time
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

}  // namespace

TEST_CASE("times count from the beginning of a week of wall time", "[exporter]") {
  const std::int64_t offset = kNow - 500 * kSecond;
  const TimeBase base = TimeBase::with_wall_clock(500 * kSecond, 600 * kSecond, offset, std::nullopt);
  REQUIRE(base.wall_ns());
  CHECK(*base.wall_ns() % kWeek == 0);
  CHECK(*base.wall_ns() <= kNow);
  CHECK(kNow - *base.wall_ns() < kWeek + 3600 * kSecond);
  CHECK(static_cast<std::int64_t>(base.since(500 * kSecond)) + *base.wall_ns() == kNow);
}

TEST_CASE("two ranks of a job have one base, though their clocks count from other times", "[exporter]") {
  const TimeBase one = TimeBase::with_wall_clock(0, kSecond, kNow, std::nullopt);
  const TimeBase other = TimeBase::with_wall_clock(77 * kSecond, 80 * kSecond, kNow - 76 * kSecond, std::nullopt);
  CHECK(one.wall_ns() == other.wall_ns());
  CHECK(other.since(77 * kSecond) - one.since(0) == static_cast<std::uint64_t>(kSecond));
}

TEST_CASE("an input's own origin is kept while its times stay exact in a double", "[exporter]") {
  CHECK(TimeBase::with_wall_clock(1000, 2000, kNow, 0).wall_ns() == kNow);
  CHECK(TimeBase::with_wall_clock(1000, 2000, kNow, 0).since(1000) == 1000);
  // Whole microseconds since 1970, as old traces have them, lose nanoseconds.
  const TimeBase moved = TimeBase::with_wall_clock(kNow, kNow + kSecond, 0, 0);
  CHECK(moved.origin_ns() > kNow - 2 * kWeek);
  CHECK(moved.wall_ns() == moved.origin_ns());
}

TEST_CASE("without a wall clock times count from 0, or from the first where that is far away", "[exporter]") {
  CHECK(TimeBase::without_wall_clock(5, 10).origin_ns() == 0);
  CHECK_FALSE(TimeBase::without_wall_clock(5, 10).wall_ns());
  CHECK(TimeBase::without_wall_clock(kNow, kNow + 1).origin_ns() == kNow);
  CHECK(TimeBase::without_wall_clock(-5, 10).origin_ns() == -5);
}

TEST_CASE("impossible times give numbers, no overflow", "[exporter]") {
  for (const std::int64_t first : {kLeast, kLeast + 1, std::int64_t{-1}, std::int64_t{0}, kMax})
    for (const std::int64_t last : {kLeast, std::int64_t{0}, kMax})
      for (const std::int64_t offset : {kLeast, std::int64_t{-1}, std::int64_t{0}, kMax}) {
        const TimeBase base = TimeBase::with_wall_clock(first, last, offset, 0);
        CHECK(base.since(base.origin_ns()) == 0);
        CHECK(base.since(kLeast) == 0);
      }
  CHECK(TimeBase::without_wall_clock(kLeast, kMax).since(kMax) == std::numeric_limits<std::uint64_t>::max());
}
