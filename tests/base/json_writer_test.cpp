// SPDX-License-Identifier: MIT
#include "base/json_writer.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <string>

using namespace rangefinder::base;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void append_shouted(std::string& out, std::string_view text) { out.append("<").append(text).append(">"); }

}  // namespace

TEST_CASE("members of JSON have a comma between them, and names and texts are quoted", "[base]") {
  std::string out = "{";
  JsonWriter(out).text("a\"b", "c\nd").boolean("yes", true).boolean("no", false).json("list", "[1]");
  CHECK(out == R"({"a\"b":"c\nd","yes":true,"no":false,"list":[1])");
  std::string none;
  JsonWriter{none};
  CHECK(none.empty());
}

TEST_CASE("numbers of JSON read back as they were", "[base]") {
  std::string out;
  JsonWriter(out)
      .number("least", std::numeric_limits<std::int64_t>::min())
      .number("most", std::numeric_limits<std::uint64_t>::max())
      .number("whole", 2.0)
      .number("tenth", 0.1)
      .number("infinite", kInfinity)
      .number("no number", std::numeric_limits<double>::quiet_NaN());
  CHECK(out == R"("least":-9223372036854775808,"most":18446744073709551615,"whole":2,"tenth":0.1,"infinite":null,)"
               R"("no number":null)");
}

TEST_CASE("JSON is spaced and quoted as its style says", "[base]") {
  std::string out;
  JsonWriter spaced(out, kSpacedJson);
  spaced.texts("all", {"a", "b"}).texts("none", {});
  spaced.key("own") += "{}";
  CHECK(out == R"("all": ["a", "b"], "none": [], "own": {})");
  std::string shouted;
  JsonWriter(shouted, {";", "=", append_shouted}).text("a", "b").texts("c", {"d", "e"});
  CHECK(shouted == "<a>=<b>;<c>=[<d>;<e>]");
}
