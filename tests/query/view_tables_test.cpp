// SPDX-License-Identifier: MIT
#include "query/asked.hpp"
#include "query/recorded.hpp"
#include "query/view_module.hpp"
#include "report/rendered.hpp"
#include "support/json_value.hpp"

#include <rangefinder/report.hpp>

#include <cmath>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

JsonValue report_of(const Timeline& timeline, const query::ViewName& view) {
  ReportOptions options;
  options.view = view.view;
  options.instances = view.instances;
  options.by = view.by;
  options.format = ReportFormat::kJson;
  return JsonValue::parse(rendered(timeline, options));
}

bool is_same(const QueryValue& value, const JsonValue& expected) {
  if (expected.kind() == JsonValue::Kind::kNull) return std::holds_alternative<std::monostate>(value);
  if (const auto* text = std::get_if<std::string>(&value))
    return expected.kind() == JsonValue::Kind::kString && *text == expected.text();
  if (expected.kind() != JsonValue::Kind::kNumber) return false;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer) == expected.text();
  const auto* real = std::get_if<double>(&value);
  return real != nullptr && std::abs(*real - expected.number()) <= 1e-9 * std::abs(expected.number());
}

}  // namespace

TEST_CASE("every view is a table with the columns and rows of its report", "[query][golden]") {
  for (const char* capture : {"train.rfcap", "graph.rfcap", "h100_graph_automatic.rfcap", "h100_counters.rfcap"}) {
    const Timeline timeline = recorded_timeline(capture);
    QueryDatabase database = database_of(timeline);
    for (const query::ViewName& view : query::view_names()) {
      CAPTURE(capture, view.table);
      const JsonValue expected = report_of(timeline, view);
      QueryLimits all;
      all.max_rows = 0;
      const QueryResult result = ask(database, "SELECT * FROM " + view.table, all);
      REQUIRE(result.columns.size() == expected["columns"].size());
      REQUIRE(result.rows.size() == expected["rows"].size());
      std::size_t differences = 0;
      for (std::size_t row = 0; row < result.rows.size(); ++row)
        for (std::size_t i = 0; i < result.columns.size(); ++i)
          if (!is_same(result.rows[row][i], expected["rows"][row][expected["columns"][i]["key"].text()])) ++differences;
      CHECK(differences == 0);
    }
  }
}

TEST_CASE("views with a row per instance are those whose help says so", "[query]") {
  for (const ReportViewInfo& view : report_views()) {
    const bool says = view.description.find("--instances") != std::string_view::npos;
    bool is_table = false;
    for (const query::ViewName& name : query::view_names())
      is_table = is_table || name.table == "view_" + std::string(view.name) + "_instances";
    CAPTURE(std::string(view.name));
    CHECK(says == is_table);
  }
}
