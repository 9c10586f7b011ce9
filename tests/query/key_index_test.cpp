// SPDX-License-Identifier: MIT
#include "query/key_index.hpp"

#include "query/asked.hpp"

#include <set>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

const query::Table& table_named(std::string_view name) {
  for (const query::Table* table : query::tables())
    if (table->name == name) return *table;
  throw std::invalid_argument("no table " + std::string(name));
}

}  // namespace

TEST_CASE("an index finds rows by key, in order of time, and leaves out those without a key", "[query]") {
  TimelineBuilder builder;
  builder.range("a", 0, 100).launch(5).kernel(50, 60).launch(1).kernel(10, 20);
  builder.without_launch(9).kernel(30, 40);
  const query::Model model(builder.build(), {});
  const query::KeyIndex index(model, table_named("activities"), {"range_id", "begin_ns"});
  CHECK(index.size() == 2);
  CHECK(index.keys() == 1);
  const query::KeyIndex::Span all = index.find(1);
  REQUIRE(all.end - all.begin == 2);
  CHECK(index.row(all.begin) == 1);
  CHECK(index.row(all.begin + 1) == 0);
  const query::KeyIndex::Span late = index.find(1, 11, 50);
  REQUIRE(late.end - late.begin == 1);
  CHECK(index.row(late.begin) == 0);
  const query::KeyIndex::Span none = index.find(2);
  CHECK(none.begin == none.end);
  const query::KeyIndex::Span crossed = index.find(1, 50, 10);
  CHECK(crossed.begin >= crossed.end);
}

TEST_CASE("tables are described without gaps", "[query]") {
  std::set<std::string> names;
  for (const query::Table* table : query::tables()) {
    CAPTURE(std::string(table->name));
    CHECK(names.insert(std::string(table->name)).second);
    CHECK_FALSE(table->description.empty());
    std::set<std::string> columns{"id"};
    for (const query::Column& column : table->columns) {
      CAPTURE(std::string(column.name));
      CHECK(columns.insert(std::string(column.name)).second);
      CHECK_FALSE(column.description.empty());
      if (column.unit == "ns" || column.unit == "bytes") CHECK(column.name.ends_with("_" + std::string(column.unit)));
    }
    for (const query::Lookup& lookup : table->lookups) {
      for (const std::string_view name : {lookup.key, lookup.time}) {
        CAPTURE(std::string(name));
        const std::size_t at = table->column(name);
        CHECK((name.empty() || at < table->columns.size()));
        if (at < table->columns.size()) CHECK(table->columns[at].type == query::Type::kInteger);
      }
    }
  }
}
