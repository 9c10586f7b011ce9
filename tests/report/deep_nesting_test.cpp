// SPDX-License-Identifier: MIT
#include "report/json.hpp"
#include "report/rendered.hpp"
#include "report/view.hpp"
#include "support/catch.hpp"
#include "support/deep_capture.hpp"
#include "support/json_value.hpp"
#include "support/loaded_capture.hpp"
#include "support/resident_memory.hpp"
#include "support/seed.hpp"

#include <rangefinder/report.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::report;
using namespace rangefinder::testing;

namespace {

Timeline nested(std::size_t depth, bool own_names, bool operators = false) {
  return load(deep_capture({depth, own_names, operators, depth / 10}));
}

std::size_t bytes_of(const Timeline& timeline, const ReportOptions& options) {
  std::size_t bytes = 0;
  const Status status = write_report(timeline, options, [&](std::string_view piece) {
    bytes += piece.size();
    return true;
  });
  REQUIRE(status.ok());
  return bytes;
}

}  // namespace

TEST_CASE("no view writes more for each range where ranges nest deeper", "[report]") {
  const bool own_names = GENERATE(false, true);
  const bool operators = GENERATE(false, true);
  if (sanitized() && !(own_names && operators)) return;  // one of four: each takes half a minute
  const auto depth = static_cast<std::size_t>(repeats(3'000));
  const Timeline shallow = nested(depth, own_names, operators);
  const Timeline deep = nested(2 * depth, own_names, operators);
  for (const View* view : views())
    for (const ReportFormat format : {ReportFormat::kText, ReportFormat::kCsv, ReportFormat::kJson}) {
      ReportOptions options;
      options.view = view->name;
      options.format = format;
      options.projection.operators = operators;
      CAPTURE(view->name, format, own_names, operators);
      const std::size_t one = bytes_of(shallow, options);
      const std::size_t two = bytes_of(deep, options);
      CHECK(two > 0);
      CHECK(two < 2.3 * static_cast<double>(one) + 4'096);
    }
}

TEST_CASE("views that list instances write no more for each where ranges nest deeper", "[report]") {
  const auto depth = static_cast<std::size_t>(repeats(3'000));
  const Timeline shallow = nested(depth, true);
  const Timeline deep = nested(2 * depth, true);
  for (const View* view : views()) {
    ReportOptions options;
    options.view = view->name;
    options.instances = true;
    options.format = ReportFormat::kJson;
    if (!write_report(shallow, options, [](std::string_view) { return true; }).ok()) continue;  // it has no instances
    CAPTURE(view->name);
    CHECK(bytes_of(deep, options) < 2.3 * static_cast<double>(bytes_of(shallow, options)) + 4'096);
  }
}

TEST_CASE("the tree of a hundred thousand nested ranges needs memory by range, not by depth", "[report]") {
  if (!resident_memory_counts()) RANGEFINDER_SKIP("resident memory says nothing under a sanitizer");
  constexpr std::size_t kDepth = 100'000;
  const Timeline timeline = nested(kDepth, true);
  ReportOptions options;
  options.view = "tree";
  options.format = GENERATE(ReportFormat::kText, ReportFormat::kJson);
  const std::int64_t before = resident_bytes();
  std::int64_t most = 0;
  REQUIRE(write_report(timeline, options, [&](std::string_view) {
            most = std::max(most, resident_bytes());
            return true;
          }).ok());
  REQUIRE(most > 0);
  CHECK(most - before < static_cast<std::int64_t>(kDepth) * 1'200);
}

TEST_CASE("the paths of a report in JSON lead from each row to all names around it", "[report]") {
  constexpr std::size_t kDepth = 3'000;
  ReportOptions options;
  options.view = "tree";
  options.format = ReportFormat::kJson;
  const JsonValue report = JsonValue::parse(rendered(nested(kDepth, true), options));
  std::map<std::int64_t, const JsonValue*> by_id;
  for (const JsonValue& path : report["paths"].items()) by_id[path["id"].integer()] = &path;
  REQUIRE(by_id.size() >= kDepth);
  std::size_t without_path = 0;
  std::size_t rows = 0;
  for (const JsonValue& row : report["rows"].items()) {
    if (row["range"].text().substr(0, 6) != "range ") continue;
    ++rows;
    without_path += row["path"].kind() == JsonValue::Kind::kNull ? 1 : 0;
    if (row["range"].text() != "range 2999") continue;
    std::size_t outwards = kDepth;
    for (const JsonValue* path = by_id.at(row["id"].integer());; path = by_id.at((*path)["parent_id"].integer())) {
      REQUIRE((*path)["name"].text() == "range " + std::to_string(--outwards));
      if ((*path)["parent_id"].kind() == JsonValue::Kind::kNull) break;
    }
    CHECK(outwards == 0);
  }
  CHECK(rows == kDepth);
  CHECK(without_path > 0);
  CHECK(without_path < kDepth);
}

TEST_CASE("what a filter or a limit hides costs nothing to write", "[report]") {
  ReportOptions options;
  options.view = "tree";
  options.format = GENERATE(ReportFormat::kText, ReportFormat::kCsv, ReportFormat::kJson);
  options.top = 3;
  CHECK(bytes_of(nested(4'000, true), options) < bytes_of(nested(1'000, true), options) + 64);
  CHECK(bytes_of(nested(4'000, true), options) < 8'000);
}

TEST_CASE("a depth that is asked for bounds what is written", "[report]") {
  ReportOptions options;
  options.view = "tree";
  options.depth = 4;
  options.format = ReportFormat::kJson;
  const std::string json = rendered(nested(4'000, true), options);
  CHECK(JsonValue::parse(json)["paths"].items().size() <= 6);
}

TEST_CASE("text of a deep tree says the depth where there is no room to indent", "[report]") {
  ReportOptions options;
  options.view = "tree";
  const std::string text = rendered(nested(100, true), options);
  CHECK(has(text, "\n  range 1 "));
  CHECK(has(text, "[99] range 99"));
  CHECK_FALSE(has(text, std::string(70, ' ') + "range"));
}
