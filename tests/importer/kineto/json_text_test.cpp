// SPDX-License-Identifier: MIT
#include "importer/kineto/json_text.hpp"

#include "trace_text.hpp"

using namespace rangefinder::importer::kineto;

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
