// SPDX-License-Identifier: MIT
#include "base/json_unescape.hpp"

#include "support/catch.hpp"

#include <string>
#include <string_view>

using namespace rangefinder::base;

namespace {
std::string meaning_of(std::string_view raw) {
  std::string out;
  append_json_unescaped(out, raw);
  return out;
}
}  // namespace

TEST_CASE("escapes mean what JSON says", "[base]") {
  CHECK(meaning_of(R"(a\"b\\c\/d)") == "a\"b\\c/d");
  CHECK(meaning_of(R"(\b\f\n\r\t)") == "\b\f\n\r\t");
  CHECK(meaning_of(R"(\u0041\u00e9\u20AC)") == "A\xC3\xA9\xE2\x82\xAC");
  CHECK(meaning_of(R"(\ud83d\ude00)") == "\xF0\x9F\x98\x80");
  CHECK(meaning_of(R"(x\u0000y)") == std::string("x\0y", 3));
}

TEST_CASE("escapes that mean nothing do no harm", "[base]") {
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
