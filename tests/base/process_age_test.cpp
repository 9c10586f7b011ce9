// SPDX-License-Identifier: MIT
#include "base/process_age.hpp"

#include "support/catch.hpp"

#include <chrono>
#include <thread>

using rangefinder::base::process_age_ns;

TEST_CASE("a process grows older", "[base]") {
  constexpr std::int64_t kTick = 10'000'000, kHour = std::int64_t{3600} * 1'000'000'000;
  const std::int64_t before = process_age_ns();
  CHECK(before >= -kTick);
  CHECK(before < kHour);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(process_age_ns() - before >= 20'000'000 - 1);
}
