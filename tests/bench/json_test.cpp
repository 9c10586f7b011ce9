// SPDX-License-Identifier: MIT
#include "bench/json.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <limits>

using namespace rangefinder::bench;

TEST_CASE("a value goes out and comes back", "[bench]") {
  const std::string text =
      R"({"name":"a \"b\"\n\u00e9","big":9007199254740993,"real":0.1,"neg":-3,"list":[1,[],{}],"on":true,"no":null})";
  const Json document = parse_json(text).value();
  const JsonView value = document;
  CHECK(value["name"].text() == "a \"b\"\n\xc3\xa9");
  CHECK(value["big"].integer() == 9007199254740993);  // beyond what a double holds
  CHECK(value["real"].number() == 0.1);
  CHECK(value["neg"].integer() == -3);
  CHECK(value["list"].items().size() == 3);
  CHECK(value["on"].boolean());
  CHECK(parse_json(json_line(document)).value() == document);
  CHECK(parse_json(json_text(document)).value() == document);
}

TEST_CASE("keys keep their order and numbers stay exact", "[bench]") {
  Json value;
  value["b"] = std::numeric_limits<std::int64_t>::max();
  value["a"] = 0.1 + 0.2;
  value["b"] = std::numeric_limits<std::int64_t>::min();
  CHECK(json_line(value) == R"({"b":-9223372036854775808,"a":0.30000000000000004})");
  CHECK(json_text(value) == "{\n  \"b\": -9223372036854775808,\n  \"a\": 0.30000000000000004\n}\n");
}

TEST_CASE("what is missing or of another type gives the default", "[bench]") {
  const Json document = parse_json(R"({"text":"1","huge":18446744073709551615,"real":1e300,"list":[1]})").value();
  const JsonView value = document;
  CHECK(value["a"]["b"].is_null());
  CHECK(value["text"]["b"].is_null());
  CHECK(value["list"]["b"].is_null());
  CHECK(value["a"].text("else") == "else");
  CHECK(value["list"].text("else") == "else");
  CHECK(value["a"].items().empty());
  CHECK(value["text"].members().empty());
  CHECK(value["text"].integer(7) == 7);
  CHECK(value["text"].number(0.5) == 0.5);
  CHECK(value["huge"].integer(7) == 7);  // no int64
  CHECK(value["real"].integer(7) == 7);
  CHECK(value["huge"].number() == 18446744073709551615.0);
  CHECK(JsonView()["a"].is_null());
}

TEST_CASE("every value can be written", "[bench]") {
  CHECK(json_line(Json(std::numeric_limits<double>::quiet_NaN())) == "null");
  CHECK(json_line(Json(std::numeric_limits<double>::infinity())) == "null");
  CHECK(json_line(Json("a\xff"
                       "b")) ==
        "\"a\xef\xbf\xbd"
        "b\"");  // a message that is not UTF-8
}

TEST_CASE("damage is an error with its place", "[bench][property]") {
  const std::string text = R"({"a":[1,2.5,"x\u0041"],"b":{"c":null,"d":true}})";
  REQUIRE(parse_json(text).ok());
  for (std::size_t cut = 0; cut < text.size(); ++cut) CHECK_FALSE(parse_json(text.substr(0, cut)).ok());
  for (const char* bad :
       {"{\"a\"}", "[1,]", "01x", "--1", "nul", "[1 2]", "\"\\q\"", "1 2", "{1:2}", "", "\"\\ud83d\"", "\"\xff\""})
    CHECK_FALSE(parse_json(bad).ok());
  CHECK(parse_json("[1,\n]").error().message() ==
        "not JSON: parse error at line 2, column 1: syntax error while parsing value - unexpected ']'; expected '[', "
        "'{', or a literal");
  CHECK(parse_json("\"" + std::string(100'000, 'x')).error().message().size() < 400);
}

TEST_CASE("nesting is bounded", "[bench]") {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  CHECK(parse_json(nested(64)).ok());
  CHECK(parse_json(nested(65)).error().message() == "JSON nested deeper than 64 levels");
  CHECK_FALSE(parse_json(std::string(100'000, '[')).ok());
  CHECK(parse_json("\"\\\"" + std::string(100, '[') + "\"").ok());  // brackets of a text
}
