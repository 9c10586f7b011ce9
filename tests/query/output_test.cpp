// SPDX-License-Identifier: MIT
#include "query/asked.hpp"
#include "support/json_value.hpp"

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::string written_as(QueryFormat format, std::string_view sql, const QueryLimits& limits = {}) {
  QueryDatabase database = database_of(two_asked_steps());
  QueryOutput output;
  output.format = format;
  std::string text;
  const Status status = database.write(sql, limits, output, [&](std::string_view piece) {
    text.append(piece);
    return true;
  });
  REQUIRE(status.ok());
  return text;
}

}  // namespace

TEST_CASE("a result is written as CSV with exact numbers", "[query]") {
  CHECK(written_as(QueryFormat::kCsv, "SELECT name, gpu_sum_ns, NULL AS none, 0.5 AS half FROM ranges LIMIT 2") ==
        "name,gpu_sum_ns,none,half\nstep,1600,,0.5\nforward,1500,,0.5\n");
}

TEST_CASE("a result is written as JSON that says whether it is whole", "[query]") {
  const JsonValue whole = JsonValue::parse(
      written_as(QueryFormat::kJson, "SELECT name, begin_ns AS t, begin_ns / 2.0 AS t, NULL AS n FROM ranges LIMIT 1"));
  CHECK(whole["schema_version"].integer() == 1);
  CHECK_FALSE(whole["truncated"].boolean());
  const JsonValue& row = whole["rows"][0];
  CHECK(row["name"].text() == "step");
  CHECK(row["t"].integer() == 1000);
  CHECK(row["t_2"].number() == 500.0);
  CHECK(row["n"].kind() == JsonValue::Kind::kNull);
  QueryLimits limits;
  limits.max_rows = 1;
  CHECK(JsonValue::parse(written_as(QueryFormat::kJson, "SELECT id FROM ranges", limits))["truncated"].boolean());
}

TEST_CASE("a result is written as text for people", "[query]") {
  const std::string text = written_as(QueryFormat::kText, "SELECT name, gpu_ops FROM ranges WHERE id = 1");
  CHECK(has(text, "gpu_ops"));
  CHECK(has(text, "step"));
}

TEST_CASE("a column of texts and numbers is written whole", "[query]") {
  CHECK(written_as(QueryFormat::kCsv, "SELECT 1 AS a UNION ALL SELECT 'x' UNION ALL SELECT -9223372036854775808") ==
        "a\n1\nx\n-9223372036854775808\n");
  CHECK(written_as(QueryFormat::kCsv, "SELECT 9e999 AS a") == "a\ninf\n");
}

TEST_CASE("a sink that has enough ends the writing", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  const Status status =
      database.write("SELECT * FROM ranges", {}, {QueryFormat::kCsv}, [](std::string_view) { return false; });
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kIo);
}
