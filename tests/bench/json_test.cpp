// SPDX-License-Identifier: MIT
#include "bench/json.hpp"

#include "support/catch.hpp"

#include <limits>

using rangefinder::bench::Json;

TEST_CASE("a value goes out and comes back", "[bench]") {
  const std::string text =
      R"({"name":"a \"b\"\n\u00e9","big":9007199254740993,"real":0.1,"neg":-3,"list":[1,[],{}],"on":true,"no":null})";
  const auto value = Json::parse(text);
  REQUIRE(value.ok());
  CHECK((*value)["name"].text() == "a \"b\"\n\xc3\xa9");
  CHECK((*value)["big"].integer() == 9007199254740993);  // beyond what a double holds
  CHECK((*value)["real"].number() == 0.1);
  CHECK((*value)["list"].items().size() == 3);
  CHECK((*value)["on"].boolean());
  const auto again = Json::parse(value->dump());
  REQUIRE(again.ok());
  CHECK(again->dump() == value->dump());
  const auto indented = Json::parse(value->pretty());
  REQUIRE(indented.ok());
  CHECK(indented->dump() == value->dump());
}

TEST_CASE("what is not there is null", "[bench]") {
  const Json value;
  CHECK(value["a"]["b"].is_null());
  CHECK(value["a"].text("else") == "else");
  CHECK(value["a"].items().empty());
  CHECK(Json(std::numeric_limits<double>::quiet_NaN()).dump() == "null");
}

TEST_CASE("surrogate pairs are one character, halves none", "[bench]") {
  CHECK(Json::parse(R"("\ud83d\ude00")")->text() == "\xf0\x9f\x98\x80");
  CHECK(Json::parse(R"("\ud83d")")->text() == "\xef\xbf\xbd");
}

TEST_CASE("damage is an error with its place", "[bench][property]") {
  const std::string text = R"({"a":[1,2.5,"x\u0041"],"b":{"c":null,"d":true}})";
  REQUIRE(Json::parse(text).ok());
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const auto value = Json::parse(text.substr(0, cut));
    CHECK_FALSE(value.ok());
  }
  for (const char* bad : {"{\"a\"}", "[1,]", "01x", "--1", "nul", "[1 2]", "\"\\q\"", "1 2", "{1:2}", ""})
    CHECK_FALSE(Json::parse(bad).ok());
  CHECK(Json::parse("[1,]").error().message() == "not JSON: no value at byte 3");
  CHECK_FALSE(Json::parse(std::string(100000, '[')).ok());
}

TEST_CASE("members are set, replaced and erased in place", "[bench]") {
  Json value;
  value.set("a", 1).set("b", 2).set("a", 3);
  CHECK(value.dump() == R"({"a":3,"b":2})");
  value.erase("a");
  CHECK(value.dump() == R"({"b":2})");
}
