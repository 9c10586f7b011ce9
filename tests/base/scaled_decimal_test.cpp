// SPDX-License-Identifier: MIT
#include "base/scaled_decimal.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string_view>

using namespace rangefinder::base;

namespace {

std::optional<std::int64_t> exact(std::string_view text, int scale = 3) {
  const ScaledDecimal decimal = scaled_decimal(text, scale);
  CHECK_FALSE(decimal.rounded);
  return decimal.valid ? std::optional(decimal.value) : std::nullopt;
}

struct Rounded {
  std::int64_t value;
  bool rounded;
  friend bool operator==(const Rounded&, const Rounded&) = default;
};

std::ostream& operator<<(std::ostream& out, const Rounded& r) {
  return out << r.value << (r.rounded ? " rounded" : "");
}

Rounded rounded(std::string_view text) {
  const ScaledDecimal decimal = scaled_decimal(text, 3);
  CHECK(decimal.valid);
  return {decimal.value, decimal.rounded};
}

}  // namespace

TEST_CASE("microseconds become nanoseconds exactly", "[base]") {
  CHECK(exact("0") == 0);
  CHECK(exact("1212075548353.304") == 1212075548353304);
  CHECK(exact("1683564901540885") == 1683564901540885000);
  CHECK(exact("2413669096090.1") == 2413669096090100);
  CHECK(exact("0.04") == 40);
  CHECK(exact("-3.5") == -3500);
  CHECK(exact("1.5e3") == 1'500'000);
  CHECK(exact("1E-3") == 1);
  CHECK(exact("+7") == 7000);
  CHECK(exact("1.250000") == 1250);
  CHECK(exact("0.000000000000000000000000000000000000000000000000") == 0);
  CHECK(exact("9223372036854775.807") == std::numeric_limits<std::int64_t>::max());
  CHECK(exact("-9223372036854775.807") == -std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("what lies below a nanosecond is rounded, half to even", "[base]") {
  CHECK(rounded("0.0005") == Rounded{0, true});
  CHECK(rounded("0.0015") == Rounded{2, true});
  CHECK(rounded("0.0025") == Rounded{2, true});
  CHECK(rounded("0.00250000000000000000000000000000000000000000000001") == Rounded{3, true});
  CHECK(rounded("0.0004999999999999999999999999999999999999999999999") == Rounded{0, true});
  CHECK(rounded("-0.0015") == Rounded{-2, true});
  CHECK(rounded("12.3456") == Rounded{12346, true});
  CHECK(rounded("1e-30") == Rounded{0, true});
  CHECK(rounded("1e-99999999999") == Rounded{0, true});
}

TEST_CASE("what is no number or does not fit is not taken for one", "[base]") {
  for (const std::string_view text :
       {"", "-", ".", "e5", "1e", "1e+", "nan", "NaN", "Infinity", "1.2.3", "12 ", "0x10", "1e5x",
        "9223372036854775.808", "1e17", "1e99999999999", "--1", "99999999999999999999999999999999999999999999999999"}) {
    INFO(text);
    CHECK_FALSE(scaled_decimal(text, 3).valid);
  }
}
