// SPDX-License-Identifier: MIT
#include "importer/kineto/json_text.hpp"

#include "trace_text.hpp"

using namespace rangefinder::importer::kineto;

namespace {
std::string meaning_of(std::string_view raw) {
  std::string out;
  unescape(raw, out);
  return out;
}
}  // namespace

TEST_CASE("escapes mean what JSON says", "[importer]") {
  CHECK(meaning_of(R"(a\"b\\c\/d)") == "a\"b\\c/d");
  CHECK(meaning_of(R"(\b\f\n\r\t)") == "\b\f\n\r\t");
  CHECK(meaning_of(R"(\u0041\u00e9\u20AC)") == "A\xC3\xA9\xE2\x82\xAC");
  CHECK(meaning_of(R"(\ud83d\ude00)") == "\xF0\x9F\x98\x80");
  CHECK(meaning_of(R"(x\u0000y)") == std::string("x\0y", 3));
}

TEST_CASE("escapes that mean nothing do no harm", "[importer]") {
  CHECK(meaning_of(R"(\ud83d)") == "\xEF\xBF\xBD");
  CHECK(meaning_of(R"(\ude00\ud83d)") == "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(meaning_of(R"(\ud83dA)") ==
        "\xEF\xBF\xBD"
        "A");
  CHECK(meaning_of(R"(\u12)") == "u12");
  CHECK(meaning_of(R"(\uZZZZ)") == "uZZZZ");
  CHECK(meaning_of(R"(\q)") == "q");
  CHECK(meaning_of("\\") == "");
}

TEST_CASE("control bytes and broken UTF-8 are told", "[importer]") {
  CHECK_FALSE(is_unclean("plain \xC3\xA9 \xF0\x9F\x98\x80"));
  CHECK(is_unclean("a\nb"));
  CHECK(is_unclean(std::string_view("\0", 1)));
  CHECK(is_unclean("\xFF"));
  CHECK(is_unclean("\xC3"));
  CHECK(is_unclean("\xED\xA0\x80"));
}

TEST_CASE("metadata stays JSON", "[importer]") {
  CHECK(metadata_value("12") == "12");
  CHECK(metadata_value("-1.5") == "-1.5");
  CHECK(metadata_value("true") == "true");
  CHECK(metadata_value("\"x\"") == "\"x\"");
  CHECK(metadata_value("{\"a\": 1}") == "{\"a\": 1}");
  CHECK(metadata_value("NaN") == "\"NaN\"");
  CHECK(metadata_value("-Infinity") == "\"-Infinity\"");
  CHECK(metadata_value("N/A") == "\"N/A\"");
}
