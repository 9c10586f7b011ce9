// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include "base/markup.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <rangefinder/health.hpp>
#include <rangefinder/result.hpp>

#include <random>
#include <set>
#include <string>

using namespace rangefinder;
using namespace rangefinder::base;
using namespace rangefinder::testing;

namespace {

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string csv(std::string_view text, bool defuse = true) {
  std::string out;
  append_csv_field(out, text, defuse);
  return out;
}

std::string encode(char32_t c) {
  std::string out;
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
  if (c < 0x10000)
    return {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
            static_cast<char>(0x80 | (c & 63))};
  return {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
          static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
}

}  // namespace

TEST_CASE("UTF-8 is decoded strictly", "[base]") {
  char32_t c = 0;
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    const std::string text = encode(point);
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    const std::size_t length = decode_utf8(text, c);
    if (length != (surrogate ? 0 : text.size()) || (!surrogate && c != point))
      FAIL("code point " << static_cast<std::uint32_t>(point));
    // One byte short is none.
    if (text.size() > 1 && decode_utf8(std::string_view(text).substr(0, text.size() - 1), c) != 0)
      FAIL("cut " << static_cast<std::uint32_t>(point));
  }
  for (const char* bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3\x28", "\xE2\x82\x28"})
    CHECK(decode_utf8(bad, c) == 0);
}

TEST_CASE("JSON strings hold any text", "[base]") {
  CHECK(json("plain") == "\"plain\"");
  CHECK(json("a\"b\\c\nd\re\tf") == "\"a\\\"b\\\\c\\nd\\re\\tf\"");
  CHECK(json(std::string_view("\0\x01\x1F\x7F", 4)) == "\"\\u0000\\u0001\\u001f\\u007f\"");
  CHECK(json("\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80") == "\"\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80\"");
  CHECK(json("\xFFx\xC3") == "\"\xEF\xBF\xBDx\xEF\xBF\xBD\"");
  CHECK(json("</script>") == "\"</script>\"");
}

TEST_CASE("JSON strings cannot steer a terminal that they are printed on", "[base]") {
  CHECK(json("\xC2\x9B") == "\"\\u009b\"");  // C1: what ESC [ is in 8 bits
  CHECK(json("\xE2\x80\xAE"
             "evil") == "\"\\u202eevil\"");  // right-to-left override
  CHECK(json("\xE2\x80\xA8\xE2\x81\xA6\xEF\xBB\xBF") == "\"\\u2028\\u2066\\ufeff\"");
}

TEST_CASE("compact JSON has no white space between tokens, and its strings as they were", "[base]") {
  const auto compact = [](std::string_view json) {
    std::string out = "before: ";
    append_compact_json(out, json);
    return out.substr(8);
  };
  CHECK(compact("[\r\n  [\n\t141,\n\t512\n  ],\n  [ ]\n]") == "[[141,512],[]]");
  CHECK(compact(R"([ "a b" , "quote \" inside, \\" , {"k" : 1} ])") == R"(["a b","quote \" inside, \\",{"k":1}])");
  CHECK(compact("").empty());
  CHECK(compact(" \n").empty());
  CHECK(compact("[\"never closed, ") == "[\"never closed, ");
  CHECK(compact("\"ends in a backslash\\") == "\"ends in a backslash\\");
}

TEST_CASE("what is printed cannot steer a terminal", "[base][property]") {
  CHECK(printable("plain \xC3\xA9") == "plain \xC3\xA9");
  CHECK(printable("\x1b[31m\n\x7f") == "\\x1b[31m\\x0a\\x7f");
  CHECK(printable("\xC2\x9B") == "\\x9b");  // C1: what ESC [ is in 8 bits
  CHECK(printable("\xE2\x80\xAE"
                  "evil") == "\\u{202e}evil");  // right-to-left override
  CHECK(printable("\xFF") == "\\xff");
  std::mt19937_64 random(property_seed("printable"));
  for (int round = 0; round < 2000; ++round) {
    std::string text(any_size(random, 6), '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string shown = printable(text);
    for (const char c : shown) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7F));
    std::string_view rest = shown;
    char32_t c = 0;
    while (!rest.empty()) {
      const std::size_t length = decode_utf8(rest, c);
      REQUIRE(length != 0);
      REQUIRE_FALSE((c >= 0x80 && c < 0xA0));
      rest.remove_prefix(length);
    }
  }
}

TEST_CASE("CSV fields are quoted where they must be, and formulas are defused on request", "[base]") {
  CHECK(csv("plain") == "plain");
  CHECK(csv("a,b") == "\"a,b\"");
  CHECK(csv("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv("two\nlines") == "\"two\nlines\"");
  CHECK(csv("") == "");
  CHECK(csv("=1+1") == "\"'=1+1\"");
  CHECK(csv("@x") == "\"'@x\"");
  CHECK(csv("-5") == "\"'-5\"");
  CHECK(csv("=1+1", false) == "=1+1");
}

TEST_CASE("CSV fields keep control characters and are valid UTF-8", "[base][property]") {
  CHECK(csv("a\x1b[2J\xE2\x80\xAE") == "a\x1b[2J\xE2\x80\xAE");
  CHECK(csv("\xFFx\xC3") == "\xEF\xBF\xBDx\xEF\xBF\xBD");
  CHECK(csv("\xFF,\"\xE9") == "\"\xEF\xBF\xBD,\"\"\xEF\xBF\xBD\"");
  std::mt19937_64 random(property_seed("csv is UTF-8"));
  for (int round = 0; round < 2000; ++round) {
    std::string text(any_size(random, 6), '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string field = csv(text);
    std::string_view rest = field;
    char32_t c = 0;
    while (!rest.empty()) {
      const std::size_t length = decode_utf8(rest, c);
      REQUIRE(length != 0);
      rest.remove_prefix(length);
    }
  }
}

TEST_CASE("texts take as many columns as a terminal gives them", "[base]") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("\xC3\xA9") == 1);
  CHECK(display_width("e\xCC\x81") == 1);  // a combining accent
  CHECK(display_width("\xE6\xBC\xA2\xE5\xAD\x97") == 4);
  CHECK(display_width("\xF0\x9F\x98\x80") == 2);
  CHECK(display_width("\xFF") == 1);
}

TEST_CASE("plain ASCII ends at the first byte that is none, wherever it stands", "[base]") {
  for (std::size_t size = 0; size < 20; ++size) {
    const std::string plain = std::string(size, ' ') + "~";
    CHECK(plain_ascii(plain) == plain.size());
    for (const char other : {'\0', '\x1F', '\x7F', '\x80', '\xFF'})
      for (const std::size_t behind : {0u, 9u})
        CHECK(plain_ascii(plain + other + std::string(behind, '~')) == plain.size());
  }
}

TEST_CASE("the nearest word is found, and none where none is near", "[base]") {
  CHECK(nearest("memmory", {"memory", "mode", "output"}) == "memory");
  CHECK(nearest("momory", {"mode", "memory"}) == "memory");
  CHECK(nearest("xyz", {"memory", "mode"}).empty());
  CHECK(nearest("", {"memory"}).empty());
  CHECK(nearest("mode", {}).empty());
}

TEST_CASE("large numbers are grouped", "[base]") {
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(999) == "999");
  CHECK(with_thousands(1'000) == "1,000");
  CHECK(with_thousands(~std::uint64_t{0}) == "18,446,744,073,709,551,615");
}

TEST_CASE("percent signs are doubled, and nothing else", "[base]") {
  CHECK(with_doubled_percents("50%/%%p.rfcap") == "50%%/%%%%p.rfcap");
  CHECK(with_doubled_percents("").empty());
}

TEST_CASE("every health counter has a number of its own, and reaches its member", "[base]") {
  CaptureHealth health;
  CHECK(health.complete());
  std::set<std::uint32_t> numbers;
  std::set<std::string_view> names;
  for (const CaptureHealth::Entry& entry : CaptureHealth().entries()) {
    CHECK(numbers.insert(entry.number).second);
    CHECK(names.insert(entry.name).second);
    CHECK_FALSE(entry.text.empty());
    CaptureHealth one;
    REQUIRE(one.add(entry.number, 7));
    CHECK(one.complete() == (entry.severity == CaptureHealth::Severity::kNote));
    std::uint64_t sum = 0;
    for (const auto& other : one.entries()) sum += other.count;
    CHECK(sum == 7);
    health += one;
    health += one;
  }
  for (const auto& entry : health.entries()) CHECK(entry.count == 14);
  CHECK_FALSE(health.add(0, 1));
  CHECK_FALSE(health.add(1'000'000, 1));
}

TEST_CASE("an error says where it happened, frame by frame", "[base]") {
  const Result<int> failed = Error(ErrorCode::kUnreadable, "not a capture").with_context("open a.rfcap");
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message() == "open a.rfcap: not a capture");
  CHECK_THROWS_AS(failed.value(), BadResult);
  CHECK(Result<int>(3).value() == 3);
  const Status good;
  CHECK(good.ok());
  CHECK_NOTHROW(good.value());
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code)
    CHECK_FALSE(to_string(static_cast<ErrorCode>(code)).empty());
}

TEST_CASE("markup in a text is escaped, and control characters are shown", "[base]") {
  CHECK(markup_escaped("<a href=\"x\">&'") == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  CHECK(markup_escaped("\x1b[31m") == "\\x1b[31m");
}
