// SPDX-License-Identifier: MIT
#include "analysis/payloads.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <cstdint>
#include <limits>
#include <string>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

constexpr RangeIndex kSixtyFour{0}, kNegative{1}, kHalf{2}, kJson{3}, kNothing{4}, kHuge{5}, kTwo{6}, kNotANumber{7};

Timeline some_payloads() {
  return TimelineBuilder()
      .range("batch", 0, 10)
      .payload(std::uint64_t{64})
      .range("batch", 10, 20)
      .payload(std::int64_t{-3})
      .range("loss", 20, 30)
      .payload(0.5)
      .range("file", 30, 40)
      .payload("json")
      .range("plain", 40, 50)
      .range("batch", 50, 60)
      .payload(std::numeric_limits<std::uint64_t>::max())
      .range("two", 60, 70)
      .payload(std::uint64_t{1})
      .payload("x")
      .range("loss", 70, 80)
      .payload(std::numeric_limits<double>::quiet_NaN())
      .build();
}

bool holds(const Timeline& timeline, const char* condition, RangeIndex range) {
  const Result<PayloadCondition> parsed = PayloadCondition::parse(condition);
  REQUIRE(parsed.ok());
  return parsed->holds(timeline, range);
}

}  // namespace

TEST_CASE("payloads are shown as they were given", "[analysis]") {
  const Timeline timeline = some_payloads();
  const char* const texts[] = {"64", "-3", "0.5", "json", "", "18446744073709551615", "1, x", "nan"};
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range)
    CHECK(payload_text(timeline, range) == texts[range]);
  CHECK(payload_number(payloads_of(timeline, kNegative)[0]) == -3.0);
  CHECK_FALSE(payload_number(payloads_of(timeline, kJson)[0]));
  CHECK_FALSE(payload_number(payloads_of(timeline, kNotANumber)[0]));
  CHECK(has_payloads(timeline));
  CHECK_FALSE(has_payloads(Timeline()));
}

TEST_CASE("numbers are compared as numbers, texts for equality", "[analysis]") {
  const Timeline timeline = some_payloads();
  for (const char* condition : {">=64", "> 63.5", "=64", "==64.0", "<65", "!=63", "batch>=64", " batch = 64 "})
    CHECK(holds(timeline, condition, kSixtyFour));
  for (const char* condition : {">64", "<64", "!=64", "=json", "loss>=64"})
    CHECK_FALSE(holds(timeline, condition, kSixtyFour));
  CHECK(holds(timeline, "<0", kNegative));
  CHECK(holds(timeline, "=json", kJson));
  CHECK(holds(timeline, "!=text", kJson));
  CHECK_FALSE(holds(timeline, ">1", kJson));
  for (const char* condition : {"=1", "!=1", "<5"}) CHECK_FALSE(holds(timeline, condition, kNothing));
  // The neighbours of 2^64 - 1 are one double with it.
  CHECK(holds(timeline, "=18446744073709551615", kHuge));
  CHECK_FALSE(holds(timeline, "=18446744073709551614", kHuge));
  CHECK(holds(timeline, "=x", kTwo));
  CHECK_FALSE(holds(timeline, "!=x", kTwo));
  CHECK_FALSE(holds(timeline, ">0", kNotANumber));
}

TEST_CASE("a condition that says nothing is refused with an example", "[analysis]") {
  for (const char* text : {"", "64", "batch", ">=", "batch>=", ">json", "!64", "batch >= many"}) {
    const Result<PayloadCondition> parsed = PayloadCondition::parse(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().message().find("write '>=64'") != std::string::npos);
  }
}

TEST_CASE("equal payloads make one part", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("a", 0, 1)
                                .payload(std::uint64_t{8})
                                .range("b", 1, 2)
                                .range("c", 2, 3)
                                .payload(std::int64_t{8})
                                .build();
  const PayloadParts parts = parts_by_payload(timeline);
  REQUIRE(parts.part.size() == 3);
  CHECK(parts.part[0] == parts.part[2]);
  CHECK(parts.text[parts.part[0]] == "8");
  CHECK(parts.text[parts.part[1]].empty());
}
