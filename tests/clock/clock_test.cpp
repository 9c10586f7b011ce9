// SPDX-License-Identifier: MIT
#include "clock/clock.hpp"

#include "support/catch.hpp"

#include <rangefinder/detail/ticks.hpp>

#include <ctime>

using namespace rangefinder;
using namespace rangefinder::clock;

namespace {

std::int64_t now(clockid_t id) {
  timespec time{};
  ::clock_gettime(id, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

TEST_CASE("the machine's clock reads three clocks at one time", "[clock]") {
  Clock& clock = system_clock();
  CHECK(&clock == &system_clock());
  CHECK(clock.ticks_per_second() > 0);
  for (int i = 0; i < 100; ++i) {
    const std::int64_t before = now(CLOCK_MONOTONIC);
    const std::uint64_t ticks_before = clock.ticks();
    const ClockPoint point = clock.sample();
    const std::uint64_t ticks_after = clock.ticks();
    const std::int64_t after = now(CLOCK_MONOTONIC);
    CHECK(point.monotonic_ns >= before);
    CHECK(point.monotonic_ns <= after);
    CHECK(point.ticks >= ticks_before);
    CHECK(point.ticks <= ticks_after);
    CHECK(point.width_ns <= static_cast<std::uint64_t>(after - before));
  }
}

TEST_CASE("ranges may read the clock inline only where it is the one that inline code reads", "[clock]") {
  Clock& clock = system_clock();
  if (clock.kind() == ClockKind::kMonotonic) CHECK(clock.ticks_per_second() == 1'000'000'000);
  if (!clock.inline_ticks()) return;
  const std::uint64_t before = clock.ticks();
  const std::uint64_t inside = detail::read_ticks();
  CHECK(inside >= before);
  CHECK(clock.ticks() >= inside);
}
