// SPDX-License-Identifier: MIT
#include "exporter/chrome/digits.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <fmt/format.h>

#include <limits>
#include <random>
#include <string>

using namespace rangefinder::chrome;

namespace {

template <typename Put, typename Value>
std::string written(Put put, Value value) {
  char buffer[64];
  return {buffer, put(buffer, value)};
}

std::string decimal(std::uint64_t value) { return written(put_decimal, value); }
std::string micros(std::uint64_t ns) { return written(put_micros, ns); }
std::string in_millionths(unsigned __int128 value) { return written(put_millionths, value); }

}  // namespace

TEST_CASE("numbers are written digit by digit as they are", "[exporter]") {
  std::uint64_t power = 1;
  for (int digits = 1; digits <= 20; ++digits) {
    for (const std::uint64_t value : {power - 1, power, power + 1, 2 * power - 1}) {
      CHECK(decimal(value) == std::to_string(value));
      CHECK(micros(value) == fmt::format("{}.{:03}", value / 1000, value % 1000));
    }
    power *= 10;
  }
  CHECK(decimal(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(micros(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551.615");
  CHECK(written(put_signed, std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(written(put_signed, std::int64_t{-1}) == "-1");
}

TEST_CASE("numbers of every size are written as they are", "[exporter][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("digits"));
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t value = random() >> (random() & 63);
    REQUIRE(decimal(value) == std::to_string(value));
    REQUIRE(micros(value) == fmt::format("{}.{:03}", value / 1000, value % 1000));
  }
}

TEST_CASE("fractions lose their trailing zeros and nothing else", "[exporter]") {
  CHECK(in_millionths(0) == "0");
  CHECK(in_millionths(1) == "0.000001");
  CHECK(in_millionths(1'500'000) == "1.5");
  CHECK(in_millionths(10'000'000) == "10");
  CHECK(in_millionths(24'672'376) == "24.672376");
  // Bandwidth of the most bytes there can be, in one nanosecond.
  CHECK(in_millionths(millionths(std::numeric_limits<std::uint64_t>::max(), 1)) == "18446744073709551615");
  CHECK(in_millionths(millionths(std::numeric_limits<std::uint64_t>::max(), 3)) == "6148914691236517205");
  CHECK(in_millionths(millionths(2, 3)) == "0.666667");
  const auto most = static_cast<unsigned __int128>(std::numeric_limits<std::uint64_t>::max()) * 1'000'000'000 + 7;
  CHECK(in_millionths(most) == "18446744073709551615000.000007");
}
