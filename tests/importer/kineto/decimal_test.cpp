// SPDX-License-Identifier: MIT
#include "importer/kineto/decimal.hpp"

#include "base/scaled_decimal.hpp"
#include "support/seed.hpp"
#include "trace_text.hpp"

#include <optional>
#include <random>

namespace base = rangefinder::base;
using namespace rangefinder::importer::kineto;
using rangefinder::testing::PaddedText;

namespace {

/// The quick reader of a time, which may decline.
std::optional<std::int64_t> plain(std::string_view text) {
  const PaddedText padded(text);
  std::int64_t ns = 0;
  const char* const end = read_plain_micros(padded.cursor().at, ns);
  if (end == nullptr) return std::nullopt;
  CHECK(end == padded.cursor().end);
  return ns;
}

}  // namespace

TEST_CASE("the quick reader of times gives what the exact one gives, or declines", "[importer]") {
  CHECK(plain("1212075548353.304") == 1212075548353304);
  CHECK(plain("1683564901540885") == 1683564901540885000);
  CHECK(plain("-12.5") == -12500);
  CHECK(plain("7.") == 7000);
  CHECK(plain("8.25") == 8250);
  for (const std::string_view text :
       {"", "-", "x", "1.2345", "1e3", "1.5E2", "12345678901234567", "9999999999999999", "12a"}) {
    INFO(text);
    CHECK_FALSE(plain(text).has_value());
  }
}

TEST_CASE("random times are read alike by both readers and by arithmetic", "[importer][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("times"));
  for (int round = 0; round < 100'000; ++round) {
    const std::int64_t limit = std::int64_t{1} << (1 + random() % 62);
    std::int64_t ns = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
    if (random() % 4 == 0) ns = -ns;
    const std::int64_t size = ns < 0 ? -ns : ns;
    std::string text = std::to_string(size / 1000) + ".";
    std::string fraction = std::to_string(size % 1000);
    text += std::string(3 - fraction.size(), '0') + fraction;
    while (random() % 2 == 0 && text.back() == '0') text.pop_back();
    if (ns < 0) text.insert(0, "-");
    INFO(text);
    const base::ScaledDecimal decimal = base::scaled_decimal(text, 3);
    REQUIRE(decimal.valid);
    REQUIRE_FALSE(decimal.rounded);
    REQUIRE(decimal.value == ns);
    if (const auto quick = plain(text)) REQUIRE(*quick == ns);
  }
}

TEST_CASE("digits are read eight at a time and singly", "[importer][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("digits of times"));
  for (std::size_t length = 1; length <= 16; ++length) {
    for (int round = 0; round < 200; ++round) {
      std::string text;
      for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('0' + random() % 10);
      const PaddedText padded(text + ",");
      std::uint64_t value = 0;
      const char* const end = read_digits(padded.cursor().at, value);
      REQUIRE(end == padded.cursor().at + length);
      REQUIRE(value == std::stoull(text));
    }
  }
}

TEST_CASE("digits end at the first byte that is none", "[importer]") {
  for (int c = 0; c < 256; ++c) {
    for (unsigned at = 0; at < 8; ++at) {
      std::string text = "12345678";
      text[at] = static_cast<char>(c);
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, text.data(), 8);
      CHECK(count_digits(bytes) == (is_digit(static_cast<char>(c)) ? 8 : at));
      // What follows that byte must not matter.
      for (std::size_t rest = at + 1; rest < 8; ++rest) text[rest] = '\xFF';
      std::memcpy(&bytes, text.data(), 8);
      CHECK(count_digits(bytes) == (is_digit(static_cast<char>(c)) ? at + 1 : at));
    }
  }
}

TEST_CASE("integers keep their sign and their neighbours", "[importer]") {
  const auto integer = [](std::string_view text) -> std::optional<std::int64_t> {
    const PaddedText padded(text);
    std::int64_t out = 0;
    return read_plain_integer(padded.cursor().at, out) != nullptr ? std::optional(out) : std::nullopt;
  };
  CHECK(integer("863350,") == 863350);
  CHECK(integer("-1}") == -1);
  CHECK(integer("1234567890123456 ") == 1234567890123456);
  CHECK_FALSE(integer("12345678901234567").has_value());
  CHECK_FALSE(integer("1.5").has_value());
  CHECK_FALSE(integer("0x0").has_value());
  CHECK_FALSE(integer("\"7\"").has_value());
}
