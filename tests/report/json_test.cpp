// SPDX-License-Identifier: MIT
#include "report/json.hpp"

#include "support/catch.hpp"

using namespace rangefinder;
using namespace rangefinder::report;

TEST_CASE("JSON holds columns, rows and footer", "[report]") {
  Table table({{"Name"}, {"Total", "ns", ColumnType::kNanoseconds}, {"Avg", "ns", ColumnType::kNanoseconds, 1}});
  table.text("a").number(9007199254740993).number(125).null().null().null();
  CHECK(to_json(table, "ranges", {}) == R"({
  "schema_version": 2,
  "view": "ranges",
  "columns": [
    {"key": "name", "name": "Name", "unit": "", "type": "text"},
    {"key": "total_ns", "name": "Total", "unit": "ns", "type": "duration"},
    {"key": "avg_ns", "name": "Avg", "unit": "ns", "type": "duration"}],
  "rows": [
    {"name": "a", "total_ns": 9007199254740993, "avg_ns": 12.5},
    {"name": null, "total_ns": null, "avg_ns": null}],
  "hidden_rows": 0,
  "account": null,
  "health": [],
  "notes": [],
  "simulated": false
}
)");
}

TEST_CASE("hostile names are escaped", "[report]") {
  Table table({{"Name\"\n"}});
  table.text(std::string_view("\x1b]52;\0\"\\\x80\xE2\x80\xAE", 12));
  const std::string json = to_json(table, "x\"y", {});
  CHECK(json.find('\x1b') == std::string::npos);
  CHECK(json.find("\\u001b]52;\\u0000\\\"\\\\\xEF\xBF\xBD") != std::string::npos);
  CHECK(json.find(R"("view": "x\"y")") != std::string::npos);
  CHECK(json.find(R"("name": "Name\"\n")") != std::string::npos);
}

TEST_CASE("hidden rows are counted", "[report]") {
  Table table({{"Name"}});
  table.text("a").text("b");
  table.select({1});
  CHECK(to_json(table, "v", {}).find("\"hidden_rows\": 1") != std::string::npos);
}
