// SPDX-License-Identifier: MIT
#include "exporter/chrome/clean_json.hpp"

#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/json_value.hpp"
#include "support/seed.hpp"

#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::chrome;

namespace {

std::string clean(std::string_view raw) {
  std::string out = "|";
  return append_clean_value(out, raw) ? out.substr(1) : out == "|" ? "(refused)" : "(half written)";
}
std::string clean_members(std::string_view raw) {
  std::string out = "|";
  return append_clean_members(out, raw) ? out.substr(1) : out == "|" ? "(refused)" : "(half written)";
}
std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace

TEST_CASE("a value that is strict JSON stays as it is", "[exporter]") {
  for (const char* value : {"0", "-1", "1.5", "1e9", "-0.25E-3", "true", "false", "null", "\"text\"", "[]", "{}",
                            "[1,[2,\"x\"],{\"a\":null}]", "123456789012345678901234567890"})
    CHECK(clean(value) == value);
  CHECK(clean(" { \"a\" : [ 1 , 2 ] } ") == "{\"a\":[1,2]}");
}

TEST_CASE("words that JSON does not have become something it has", "[exporter]") {
  CHECK(clean("NaN") == "null");
  CHECK(clean("-inf") == "null");
  CHECK(clean("Infinity") == "null");
  CHECK(clean("+1") == "\"+1\"");
  CHECK(clean("007") == "\"007\"");
  CHECK(clean("1.") == "\"1.\"");
  CHECK(clean(".5") == "\".5\"");
  CHECK(clean("0x10") == "\"0x10\"");
  CHECK(clean("undefined") == "\"undefined\"");
  CHECK(clean("[1,2,]") == "[1,2]");
}

TEST_CASE("strings are made strict, whatever bytes they hold", "[exporter]") {
  CHECK(clean("\"a\nb\"") == "\"a\\nb\"");
  CHECK(clean("\"a\\u0041\"") == "\"aA\"");
  CHECK(clean(std::string("\"a\0b\"", 5)) == "\"a\\u0000b\"");
  CHECK(clean("\"\xFF\"") == "\"\xEF\xBF\xBD\"");
  CHECK(clean("\"</script>\"") == "\"<\\/script>\"");
  CHECK(clean("\"\\ud800\"").find("\\ud8") == std::string::npos);  // half a pair is no character
}

TEST_CASE("values whose brackets or quotes do not match are refused whole", "[exporter]") {
  for (const char* value : {"", " ", "[", "]", "{", "[1", "[1}", "{\"a\"}", "{\"a\":}", "{a:1}", "\"open", "\"open\\",
                            "1 2", "[1 2]", "{\"a\":1,,}"})
    CHECK(clean(value) == "(refused)");
  CHECK(clean_members("\"a\": 1, \"b\": [2") == "(refused)");
  CHECK(clean_members("\"a\": 1, \"b\": [2]") == "\"a\":1,\"b\":[2]");
  CHECK(clean_members("\"a\": 1}, {\"b\": 2") == "(refused)");
}

TEST_CASE("nesting is bounded, so that no text can exhaust the stack", "[exporter]") {
  CHECK(clean(std::string(100, '[') + std::string(100, ']')) == std::string(100, '[') + std::string(100, ']'));
  CHECK(clean(std::string(100'000, '[') + std::string(100'000, ']')) == "(refused)");
  std::vector<RawMember> members;
  CHECK(split_object("{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}", members));
}

TEST_CASE("an object comes apart into its members", "[exporter]") {
  std::vector<RawMember> members;
  REQUIRE(split_object("{\"a\": 1, \"b\\n\": \"x,}\", \"c\": {\"d\": []}}", members));
  REQUIRE(members.size() == 3);
  CHECK(members[1].key == "b\n");
  CHECK(members[1].value == "\"x,}\"");
  CHECK(members[2].value == "{\"d\": []}");
  CHECK(text_of(members[1].value) == "x,}");
  CHECK(split_object("{}", members));
  CHECK(members.empty());
  for (const char* text : {"", "[]", "{", "{\"a\"}", "{\"a\":1} x", "{\"a\":1", "1"})
    CHECK_FALSE(split_object(text, members));
}

TEST_CASE("a quoted text ends no script element", "[exporter]") {
  CHECK(quoted("</script></b><a") == "\"<\\/script><\\/b><a\"");
  CHECK(quoted("<") == "\"<\"");
  CHECK(quoted("</") == "\"<\\/\"");
}

TEST_CASE("whatever comes in, what comes out is strict JSON or nothing", "[exporter][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("clean JSON"));
  const std::string_view pieces[] = {"{", "}", "[",   "]",    "\"", "\\",      ":",    ",",  "1", "-",
                                     ".", "e", "NaN", "null", "a",  "\\u00e9", "\xC3", "\n", " ", "</"};
  int accepted = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string raw;
    for (std::size_t count = random() % 12; count > 0; --count) raw += pieces[random() % std::size(pieces)];
    if (random() % 2 == 0) raw = "[\"" + raw + "\"]";
    CAPTURE(raw);
    const std::string out = clean(raw);
    REQUIRE(out != "(half written)");
    if (out == "(refused)") continue;
    ++accepted;
    REQUIRE_NOTHROW(testing::JsonValue::parse(out));
    REQUIRE(clean(out) == out);  // nothing left to clean
    for (std::size_t at = 0; at < out.size();) {
      char32_t code = 0;
      const std::size_t length = base::decode_utf8(std::string_view(out).substr(at), code);
      REQUIRE(length != 0);
      REQUIRE(code >= 0x20);
      at += length;
    }
  }
  CHECK(accepted > 1000);
}
