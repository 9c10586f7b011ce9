// SPDX-License-Identifier: MIT
#include "importer/kineto/scan.hpp"

#include "support/seed.hpp"
#include "trace_text.hpp"

#include <random>

using namespace rangefinder::importer::kineto;
using rangefinder::testing::PaddedText;

namespace {

struct Skipped {
  Scan scan;
  std::size_t length;
};

Skipped skip(std::string_view text, unsigned depth = 1) {
  const PaddedText padded(text);
  Cursor cursor = padded.cursor();
  const char* at = cursor.at;
  const Scan scan = skip_value(cursor, at, depth);
  return {scan, static_cast<std::size_t>(at - cursor.at)};
}

}  // namespace

TEST_CASE("white space is skipped however long it is", "[importer]") {
  for (const std::size_t length : {0u, 1u, 2u, 15u, 16u, 17u, 31u, 64u, 200u}) {
    for (const char fill : {' ', '\n', '\t', '\r'}) {
      const PaddedText text(std::string(length, fill) + "x");
      CHECK(skip_space(text.cursor().at) == text.cursor().at + length);
    }
  }
}

TEST_CASE("white space is JSON's alone", "[importer]") {
  for (const char other : {'\0', '\v', '\f', '\x01', 'x', '\xA0'}) {
    const PaddedText text(std::string("  ") + other + " ");
    CHECK(skip_space(text.cursor().at) == text.cursor().at + 2);
  }
}

TEST_CASE("a string ends at the first quote that is not escaped", "[importer]") {
  for (const std::size_t prefix : {0u, 1u, 13u, 14u, 15u, 16u, 17u, 40u}) {
    const std::string body = std::string(prefix, 'a') + R"(\"b\\)";
    const PaddedText text('"' + body + "\", 1");
    Cursor cursor = text.cursor();
    const char* at = cursor.at;
    RawText out;
    REQUIRE(read_string(cursor, at, out) == Scan::kOk);
    CHECK(out.bytes == body);
    CHECK(out.escaped);
    CHECK(*at == ',');
  }
}

TEST_CASE("a string without escapes says so", "[importer]") {
  const PaddedText text(R"("plain" "esc\n")");
  Cursor cursor = text.cursor();
  const char* at = cursor.at;
  RawText out;
  REQUIRE(read_string(cursor, at, out) == Scan::kOk);
  CHECK_FALSE(out.escaped);
  at = skip_space(at);
  REQUIRE(read_string(cursor, at, out) == Scan::kOk);
  CHECK(out.escaped);
}

TEST_CASE("a string that the window cuts asks for more", "[importer]") {
  for (const std::string_view text : {"\"", "\"abc", "\"abc\\", "\"abc\\\"", "\"0123456789abcdef0123456789abcdef"}) {
    const PaddedText padded(text);
    Cursor cursor = padded.cursor();
    const char* at = cursor.at;
    RawText out;
    CHECK(read_string(cursor, at, out) == Scan::kMore);
  }
}

TEST_CASE("values of every kind are skipped whole", "[importer]") {
  for (const std::string_view value :
       {"0", "-12.5e+3", "true", "null", "NaN", "-Infinity", "N/A", "\"\"", "\"a\\\"b\"", "[]", "{}",
        "[[1], [], [2, [3]]]", R"({"a": [1, {"b": "]}"}], "c": "\\"})", R"(["a", "b\"]", "0123456789abcdef]"])"}) {
    INFO(value);
    const Skipped out = skip(std::string(value) + ",");
    CHECK(out.scan == Scan::kOk);
    CHECK(out.length == value.size());
  }
}

TEST_CASE("every cut of a value asks for more", "[importer]") {
  const std::string value = R"({"Input Dims": [[1, 2], [], ["x\"]", {"k": "v"}]], "Call stack": "a;b\\;c"})";
  for (std::size_t cut = 0; cut < value.size(); ++cut) CHECK(skip(value.substr(0, cut)).scan == Scan::kMore);
}

TEST_CASE("brackets that do not match are an offence", "[importer]") {
  CHECK(skip("[1, 2}").scan == Scan::kBad);
  CHECK(skip("{\"a\": [1, {]}}").scan == Scan::kBad);
  CHECK(skip("]").scan == Scan::kBad);
  CHECK(skip(", 1").scan == Scan::kBad);
}

TEST_CASE("nesting is bounded at 256, counted from the outermost bracket", "[importer]") {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  CHECK(skip(nested(256), 0).scan == Scan::kOk);
  CHECK(skip(nested(257), 0).scan == Scan::kTooDeep);
  CHECK(skip(nested(253), 3).scan == Scan::kOk);
  CHECK(skip(nested(254), 3).scan == Scan::kTooDeep);
  CHECK(skip(std::string(10'000'000, '{'), 0).scan == Scan::kTooDeep);
}

TEST_CASE("skipping agrees with counting brackets one by one", "[importer][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("skipping"));
  constexpr std::string_view kAlphabet = "[]{}\"\\ ,:a1";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = "[";
    const std::size_t length = random() % 80;
    for (std::size_t i = 0; i < length; ++i) text += kAlphabet[random() % kAlphabet.size()];
    // The slow way: a stack, one byte at a time.
    std::string stack;
    Scan expected = Scan::kMore;
    std::size_t at = 0;
    for (; at < text.size() && expected == Scan::kMore; ++at) {
      const char c = text[at];
      if (c == '"') {
        std::size_t close = at + 1;
        while (close < text.size() && text[close] != '"') close += text[close] == '\\' ? 2 : 1;
        if (close >= text.size()) break;
        at = close;
      } else if (c == '[' || c == '{') {
        stack += c;
      } else if (c == ']' || c == '}') {
        if (stack.back() != (c == ']' ? '[' : '{')) expected = Scan::kBad;
        stack.pop_back();
        if (expected == Scan::kMore && stack.empty()) expected = Scan::kOk;
      }
    }
    INFO(text);
    const Skipped out = skip(text);
    REQUIRE(static_cast<int>(out.scan) == static_cast<int>(expected));
    if (expected == Scan::kOk) REQUIRE(out.length == at);
  }
}

TEST_CASE("newlines are counted", "[importer][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("newlines"));
  for (const std::size_t length : {0u, 1u, 15u, 16u, 17u, 4079u, 4080u, 4081u, 9000u, 100'000u}) {
    std::string text(length, 'x');
    for (char& c : text) c = random() % 3 == 0 ? '\n' : static_cast<char>(random());
    CHECK(count_newlines(text.data(), text.data() + text.size()) ==
          static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')));
  }
  const std::string all(100'000, '\n');
  CHECK(count_newlines(all.data(), all.data() + all.size()) == all.size());
}
