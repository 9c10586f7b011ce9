// SPDX-License-Identifier: MIT
#include "source/cupti/activity_windows.hpp"

#include "support/catch.hpp"

namespace rangefinder::source::cupti {
namespace {
constexpr std::uint64_t noted(std::uint32_t correlation) { return std::uint64_t{1} << 32 | correlation; }
}  // namespace

TEST_CASE("nothing is kept before a window was opened", "[source]") {
  ActivityWindows windows;
  windows.begin();
  CHECK_FALSE(windows.keep_device(100, 200, 1));
  CHECK_FALSE(windows.keep_host(100, 200));
}

TEST_CASE("an open window keeps what was launched in it or runs in it", "[source]") {
  ActivityWindows windows;
  windows.begin();
  windows.open(1000, noted(50));
  CHECK(windows.keep_device(1100, 1200, 51));
  CHECK(windows.keep_device(1100, 1200, 7));       // launched before, still running
  CHECK_FALSE(windows.keep_device(100, 200, 50));  // before, and over
  CHECK(windows.keep_host(900, 1001));
  CHECK_FALSE(windows.keep_host(900, 999));
}

TEST_CASE("a closed window keeps late work that was launched in it and nothing launched later", "[source]") {
  ActivityWindows windows;
  windows.begin();
  windows.open(1000, noted(50));
  windows.close(2000, noted(80));
  CHECK(windows.keep_device(5000, 6000, 80));
  CHECK(windows.keep_device(5000, 6000, 51));
  CHECK_FALSE(windows.keep_device(5000, 6000, 81));
  CHECK_FALSE(windows.keep_device(5000, 6000, 50));
  CHECK(windows.keep_device(1999, 6000, 90));  // runs in the window, whoever launched it
  CHECK_FALSE(windows.keep_host(2000, 2100));
  SECTION("and a second window does the same") {
    windows.open(7000, noted(200));
    CHECK(windows.keep_device(9000, 9100, 201));
    CHECK(windows.keep_device(6000, 6100, 60));
    CHECK_FALSE(windows.keep_device(6000, 6100, 150));
  }
}

TEST_CASE("correlation ids wrap", "[source]") {
  ActivityWindows windows;
  windows.begin();
  windows.open(1000, noted(0xFFFFFFF0u));
  windows.close(2000, noted(5));
  CHECK(windows.keep_device(5000, 6000, 0xFFFFFFF1u));
  CHECK(windows.keep_device(5000, 6000, 0));
  CHECK(windows.keep_device(5000, 6000, 5));
  CHECK_FALSE(windows.keep_device(5000, 6000, 6));
  CHECK_FALSE(windows.keep_device(5000, 6000, 0xFFFFFFF0u));
}

TEST_CASE("before the first launch of the process every id is new", "[source]") {
  ActivityWindows windows;
  windows.begin();
  windows.open(1000, 0);
  CHECK(windows.keep_device(10, 20, 0x90000000u));
  windows.close(2000, 0);
  CHECK_FALSE(windows.keep_device(3000, 4000, 3));
}

TEST_CASE("after a step of the clock, calls are kept when in doubt", "[source]") {
  ActivityWindows windows;
  windows.begin();
  windows.open(1000, 0);
  CHECK_FALSE(windows.keep_host(10, 20));
  windows.clock_stepped();
  CHECK(windows.keep_host(10, 20));
  windows.begin();
  CHECK_FALSE(windows.keep_host(10, 20));
}

TEST_CASE("after a step of the clock no window is taken for an old one", "[source]") {
  for (const bool stepped : {false, true}) {
    ActivityWindows windows;
    windows.begin();
    windows.open(1000, noted(10));
    windows.close(2000, noted(20));
    if (stepped) windows.clock_stepped();
    windows.open(3'600'000'000'000, noted(30));
    windows.close(3'600'000'001'000, noted(40));
    CHECK(windows.keep_device(5000, 6000, 15) == stepped);
  }
}

TEST_CASE("opening an open window and closing a closed one change nothing", "[source]") {
  ActivityWindows windows;
  windows.begin();
  windows.close(500, noted(1));
  windows.open(1000, noted(10));
  windows.open(1500, noted(20));
  CHECK(windows.keep_device(100, 200, 11));
  windows.close(2000, noted(30));
  windows.close(9000, noted(90));
  CHECK_FALSE(windows.keep_device(8000, 8100, 80));
}

TEST_CASE("many windows are told apart by their ids, across a wrap too, and old ones are forgotten", "[source]") {
  ActivityWindows windows;
  windows.begin();
  constexpr std::uint32_t kFirst = 0xFFFFFFFFu - 5000;
  constexpr std::uint32_t kWindows = 1000;
  const auto id = [](std::uint32_t n) { return kFirst + n; };
  constexpr std::int64_t kLater = 1'000'000;
  for (std::uint32_t n = 0; n < kWindows; ++n) {  // ten launches each, ten in the pause after it
    windows.open(20 * n, noted(id(20 * n)));
    windows.close(20 * n + 10, noted(id(20 * n + 10)));
  }
  for (std::uint32_t n = 0; n < kWindows; ++n) {
    for (const std::uint32_t inside : {1u, 5u, 10u})
      REQUIRE(windows.keep_device(kLater, kLater + 1, id(20 * n + inside)));
    for (const std::uint32_t outside : {11u, 20u})
      REQUIRE_FALSE(windows.keep_device(kLater, kLater + 1, id(20 * n + outside)));
  }
  CHECK(windows.keep_host(5, 6));
  windows.open(700'000'000'000, noted(id(20 * kWindows)));
  windows.close(700'000'000'001, noted(id(20 * kWindows + 1)));
  CHECK_FALSE(windows.keep_host(5, 6));
  CHECK_FALSE(windows.keep_device(kLater, kLater + 1, id(5)));
  CHECK(windows.keep_device(kLater, kLater + 1, id(20 * kWindows + 1)));
}

}  // namespace rangefinder::source::cupti
