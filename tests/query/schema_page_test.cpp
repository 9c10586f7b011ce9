// SPDX-License-Identifier: MIT
#include "query/asked.hpp"
#include "support/golden.hpp"

#include <rangefinder/query.hpp>

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

constexpr const char* kIntroduction =
    "# Tables of `rangefinder query`\n\n"
    "What a query can name; [how to ask](../how-to/ask-a-capture.md) has questions to begin with. This page is written "
    "by a test from\n"
    "the code. An asterisk marks columns that are looked up in an index when they are compared with a value or "
    "joined.\n"
    "Every table begins with `id`*, the position of the row, counted from 1. NULL: none, or not known.\n";

std::string cell_text(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string schema_page() {
  std::string page = kIntroduction;
  std::string views;
  for (const QueryTableInfo& table : query_schema()) {
    if (table.columns.empty()) {
      views += "| `" + std::string(table.name) + "` | " + cell_text(table.description) + " |\n";
      continue;
    }
    page += "\n## " + std::string(table.name) + "\n" + std::string(table.description) + ".\n\n";
    page += "| column | type | unit | meaning |\n|---|---|---|---|\n";
    for (const QueryColumnInfo& column : table.columns) {
      if (column.name == "id") continue;
      page += "| `" + std::string(column.name) + "`" + (column.indexed ? "*" : "") + " | " + std::string(column.type) +
              " | " + std::string(column.unit) + " | " + cell_text(column.description) + " |\n";
    }
  }
  page +=
      "\n## Views\nThe views of `rangefinder report`, with the columns that `--json` has: `PRAGMA "
      "table_info(view_kernels)` lists them.\n\n";
  page += "| table | shows |\n|---|---|\n" + views;
  return page;
}

}  // namespace

TEST_CASE("the page of the schema says what the code has", "[query][golden]") {
  require_golden("../../docs/reference/query-schema.md", schema_page());
}

TEST_CASE("the schema as text names every table and column", "[query]") {
  const std::string text = query_schema_text();
  for (const QueryTableInfo& table : query_schema()) {
    CHECK(has(text, std::string(table.name)));
    for (const QueryColumnInfo& column : table.columns) CHECK(has(text, "  " + std::string(column.name)));
  }
}
