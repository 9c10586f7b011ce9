// SPDX-License-Identifier: MIT
#include "report/table_order.hpp"

#include "support/catch.hpp"

using namespace rangefinder;
using namespace rangefinder::report;

namespace {

Table some_table() {
  Column name{"Name"};
  name.naming_rows();
  Table table({{"Total", "ns", ColumnType::kNanoseconds}, name, {"Kernel Name"}});
  table.number(30).text("forward/layer1").text("z");
  table.null().text("backward").text("y");
  table.number(-5).text("forward/layer0").text("x");
  table.number(30).text("step").text("w");
  return table;
}

std::string names(const Table& table) {
  std::string out;
  for (std::size_t row = 0; row < table.row_count(); ++row) out += std::string(table.text_at(row, 1)) + " ";
  return out;
}

std::string arranged(const ViewOptions& options) {
  Table table = some_table();
  const Status status = arrange(table, options);
  return status.ok() ? names(table) : status.error().message();
}

ViewOptions filtered(const std::string& text, bool regex = false) {
  ViewOptions options;
  options.filter = text;
  options.filter_is_regex = regex;
  return options;
}
ViewOptions sorted(const std::string& by) {
  ViewOptions options;
  options.sort = by;
  return options;
}

}  // namespace

TEST_CASE("without options nothing changes", "[report]") {
  CHECK(arranged({}) == "forward/layer1 backward forward/layer0 step ");
}

TEST_CASE("a filter keeps names that contain it", "[report]") {
  CHECK(arranged(filtered("ward/")) == "forward/layer1 forward/layer0 ");
  CHECK(arranged(filtered("Forward")) == "");
  CHECK(arranged(filtered("z")) == "");  // another column
  CHECK(arranged(filtered(".")) == "");
}

TEST_CASE("a filter may be an expression", "[report]") {
  CHECK(arranged(filtered("^(forward|step)", true)) == "forward/layer1 forward/layer0 step ");
  CHECK(arranged(filtered("layer[0-9]$", true)) == "forward/layer1 forward/layer0 ");
  CHECK(arranged(filtered("(", true)).find("filter \"(\": ") == 0);
}

TEST_CASE("an expression is matched against names of a megabyte and names with NUL", "[report]") {
  for (const char* expression : {"(a|b)*b$", "y$"}) {
    Table table({{"Name"}});
    table.text(std::string(1 << 20, 'a') + "b").text(std::string_view("x\0y", 3));
    REQUIRE(arrange(table, filtered(expression, true)).ok());
    CHECK(table.row_count() == 1);
  }
}

TEST_CASE("numbers are sorted down, texts up, what is absent last", "[report]") {
  CHECK(arranged(sorted("total_ns")) == "forward/layer1 step forward/layer0 backward ");
  CHECK(arranged(sorted("+total_ns")) == "forward/layer0 forward/layer1 step backward ");
  CHECK(arranged(sorted("Total")) == "forward/layer1 step forward/layer0 backward ");
  CHECK(arranged(sorted("Total (ns)")) == "forward/layer1 step forward/layer0 backward ");
  CHECK(arranged(sorted("name")) == "backward forward/layer0 forward/layer1 step ");
  CHECK(arranged(sorted("-name")) == "step forward/layer1 forward/layer0 backward ");
  CHECK(arranged(sorted("kernel_name")) == "step forward/layer0 backward forward/layer1 ");
}

TEST_CASE("the column to sort by may be given in any of its names", "[report]") {
  CHECK(arranged(sorted("total")) == arranged(sorted("total_ns")));
  CHECK(arranged(sorted("+TOTAL (ns)")) == arranged(sorted("+total_ns")));
  CHECK(arranged(sorted("kern")) == arranged(sorted("kernel_name")));
}

TEST_CASE("a column that is not there is answered with those that are", "[report]") {
  CHECK(arranged(sorted("totl_ns")) ==
        "sort: no column \"totl_ns\"; did you mean total_ns? the columns are total_ns, name, kernel_name");
  CHECK(arranged(sorted("-")).find("sort: no column") == 0);
}

TEST_CASE("the top is taken after filter and sort", "[report]") {
  ViewOptions options = filtered("forward");
  options.sort = "+total_ns";
  options.top = 1;
  CHECK(arranged(options) == "forward/layer0 ");
  options.top = 10;
  CHECK(arranged(options) == "forward/layer0 forward/layer1 ");
}
