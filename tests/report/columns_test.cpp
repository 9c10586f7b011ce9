// SPDX-License-Identifier: MIT
#include "report/columns.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::report;
using rangefinder::testing::TimelineBuilder;

namespace {

struct Row {
  std::string name;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  std::int64_t length_ns() const noexcept { return end_ns - begin_ns; }
};

template <typename Get>
Table one_number(Get get) {
  ColumnsOf<int> columns;
  columns.count("Number", get);
  return columns.table_of(std::vector<int>{1});
}

}  // namespace

TEST_CASE("a column's cell is what its function gets from the row", "[report]") {
  ColumnsOf<Row> columns;
  columns.text("Name", &Row::name);
  columns.timestamp("Begin", &Row::begin_ns);
  columns.time("Length", &Row::length_ns);
  columns.count("Twice", [](const Row& row) { return 2 * row.end_ns; });
  const Table table = columns.table_of(std::vector<Row>{{"a", 3, 10}, {"b", 4, 4}});
  REQUIRE(table.row_count() == 2);
  REQUIRE(table.columns().size() == 4);
  CHECK(table.columns()[2].header() == "Length (ns)");
  CHECK(table.text_at(1, 0) == "b");
  CHECK(table.number_at(0, 1) == 3);
  CHECK(table.number_at(0, 2) == 7);
  CHECK(table.number_at(1, 3) == 8);
}

TEST_CASE("a column that is left out leaves no cell behind", "[report]") {
  const bool with_begin = GENERATE(false, true);
  ColumnsOf<Row> columns;
  columns.text("Name", &Row::name);
  if (with_begin) columns.timestamp("Begin", &Row::begin_ns);
  columns.timestamp("End", &Row::end_ns);
  const Table table = columns.table_of(std::vector<Row>{{"a", 3, 10}});
  REQUIRE(table.columns().size() == (with_begin ? 3 : 2));
  CHECK(table.number_at(0, table.columns().size() - 1) == 10);
}

TEST_CASE("nothing is no number and no text", "[report]") {
  ColumnsOf<int> columns;
  columns.text("Text", [](int row) { return row > 0 ? std::optional<std::string_view>("some") : std::nullopt; });
  columns.count("Number", [](int row) { return row > 0 ? std::optional(row) : std::nullopt; });
  columns.real("Real", [](int row) { return row > 0 ? std::optional(0.5) : std::nullopt; });
  columns.path("Path", [](int) { return Paths::kNothing; });
  const Table table = columns.table_of(std::vector<int>{0, 1});
  for (std::size_t column = 0; column < 4; ++column) CHECK(table.is_null(0, column));
  CHECK(table.text_at(1, 0) == "some");
  CHECK(table.number_at(1, 1) == 1);
  CHECK(real_of_cell(table.number_at(1, 2)) == 0.5);
}

TEST_CASE("a number that no cell holds is the largest that one does", "[report]") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  CHECK(one_number([](int) { return std::numeric_limits<std::uint64_t>::max(); }).number_at(0, 0) == kMax);
  CHECK(one_number([](int) { return std::uint64_t{1} << 63; }).number_at(0, 0) == kMax);
  CHECK(one_number([](int) { return std::optional(static_cast<std::uint64_t>(kMax)); }).number_at(0, 0) == kMax);
  CHECK(one_number([](int) { return std::int32_t{-1}; }).number_at(0, 0) == -1);
}

TEST_CASE("a text is a name of the timeline, words, or both", "[report]") {
  const Timeline timeline = TimelineBuilder().range("step", 0, 1).build();
  ColumnsOf<int> columns(timeline);
  const StringId step = timeline.ranges.name[RangeIndex(0)];
  columns.text("Name", [&](int) { return step; });
  columns.text("Words", [](int) { return "(none)"; });
  columns.text("Either", [&](int row) { return row == 0 ? CellText(step) : CellText("(outside)"); });
  columns.text("Made", [](int row) { return "number " + std::to_string(row); });
  const Table table = columns.table_of(std::vector<int>{0, 1});
  CHECK(table.text_at(0, 0) == "step");
  CHECK(table.text_at(0, 1) == "(none)");
  CHECK(table.text_at(0, 2) == "step");
  CHECK(table.text_at(1, 2) == "(outside)");
  CHECK(table.text_at(1, 3) == "number 1");
}

TEST_CASE("a column may be of a path and of what is known about it", "[report]") {
  ColumnsOf<Paths::Node> columns;
  columns.path("Path", [](Paths::Node node) { return node; });
  columns.count("Depth", [](Paths::Node node, const Paths& paths) { return paths.depth(node); });
  Table table = columns.table();
  const Paths::Node step = table.paths().add(Paths::kNothing, 1, "step");
  columns.add_row(table, table.paths().add(step, 2, "forward"));
  CHECK(table.text_at(0, 0) == "step/forward");
  CHECK(table.number_at(0, 1) == 1);
}

TEST_CASE("what is said behind a column is the column's", "[report]") {
  ColumnsOf<Row> columns;
  columns.count("Number", &Row::begin_ns).if_room(3).if_any().bounded_by("Lost");
  columns.count("Lost", &Row::end_ns).for_programs();
  columns.text("Name", &Row::name).naming_rows();
  const Table table = columns.table_of(std::vector<Row>{{"a", 3, 10}});
  CHECK(table.columns()[0].dispensable == 3);
  CHECK(table.columns()[0].in_text == InText::kUnlessEmpty);
  CHECK(table.columns()[1].in_text == InText::kNever);
  CHECK(table.is_lower_bound(0, 0));
  CHECK(table.name_column() == 2);
}
