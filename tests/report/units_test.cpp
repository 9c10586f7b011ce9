// SPDX-License-Identifier: MIT
#include "report/units.hpp"

#include "support/catch.hpp"

#include <limits>

using namespace rangefinder::report;

TEST_CASE("times have four significant digits and a unit", "[report]") {
  CHECK(readable_time(0) == "0 ns");
  CHECK(readable_time(1) == "1 ns");
  CHECK(readable_time(999) == "999 ns");
  CHECK(readable_time(1000) == "1.000 us");
  CHECK(readable_time(12345) == "12.35 us");
  CHECK(readable_time(123456) == "123.5 us");
  CHECK(readable_time(600265000) == "600.3 ms");
  CHECK(readable_time(1'500'000'000) == "1.500 s");
  CHECK(readable_time(123'456'000'000'000) == "123456 s");
  CHECK(readable_time(-12345) == "-12.35 us");
}

TEST_CASE("rounding up moves to the next digit or unit", "[report]") {
  CHECK(readable_time(9999) == "9.999 us");
  CHECK(readable_time(99996) == "100.0 us");
  CHECK(readable_time(999949) == "999.9 us");
  CHECK(readable_time(999951) == "1.000 ms");
  CHECK(readable_time(999'999'999) == "1.000 s");
}

TEST_CASE("averages keep their decimals where they matter", "[report]") {
  CHECK(readable_time(375, 1) == "37.5 ns");
  CHECK(readable_time(170000, 1) == "17.00 us");
  CHECK(readable_time(9999, 1) == "999.9 ns");
  CHECK(readable_time(5, 1) == "0.5 ns");
}

TEST_CASE("the greatest numbers are written, too", "[report]") {
  CHECK(readable_time(std::numeric_limits<std::int64_t>::max()) == "9223372037 s");
  CHECK(readable_time(std::numeric_limits<std::int64_t>::min() + 1) == "-9223372037 s");
  CHECK(readable_bytes(std::numeric_limits<std::int64_t>::max()) == "9223372 TB");
}

TEST_CASE("bytes are decimal, timestamps exact", "[report]") {
  CHECK(readable_bytes(512) == "512 B");
  CHECK(readable_bytes(1'048'576) == "1.049 MB");
  CHECK(readable_timestamp(155357647753) == "155.357647753");
  CHECK(readable_timestamp(-1) == "-0.000000001");
}
