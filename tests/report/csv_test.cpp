// SPDX-License-Identifier: MIT
#include "report/csv.hpp"

#include "support/catch.hpp"

using namespace rangefinder;
using namespace rangefinder::report;

TEST_CASE("CSV has units in its header, exact numbers and nothing for nothing", "[report]") {
  Table table({{"Total", "ns", ColumnType::kNanoseconds}, {"Avg", "ns", ColumnType::kNanoseconds, 1}, {"Name"}});
  table.number(1234567).number(125).text("a").null().null().null();
  CHECK(to_csv(table) == "Total (ns),Avg (ns),Name\n1234567,12.5,a\n,,\n");
  CHECK(to_csv(table, {true, false}) == "1234567,12.5,a\n,,\n");
}

TEST_CASE("fields with commas, quotes or line ends are quoted", "[report]") {
  Table table({{"Name"}});
  for (const char* name : {"a,b", "say \"x\"", "two\nlines", "cr\rlf", "plain"}) table.text(name);
  CHECK(to_csv(table) == "Name\n\"a,b\"\n\"say \"\"x\"\"\"\n\"two\nlines\"\n\"cr\rlf\"\nplain\n");
}

TEST_CASE("formulas are defused unless names must stay equal; numbers never are", "[report]") {
  Table table({{"Name"}, {"Delta", "", ColumnType::kInteger}});
  table.text("=1+1").number(-5).text("-x").number(1);
  CHECK(to_csv(table) == "Name,Delta\n\"'=1+1\",-5\n\"'-x\",1\n");
  CHECK(to_csv(table, {false, true}) == "Name,Delta\n=1+1,-5\n-x,1\n");
}

TEST_CASE("on a terminal names are shown as text shows them, and each row is a line", "[report]") {
  Table table({{"Name"}, {"\x1b[2J"}});
  table.text("a\x1b]52;c;aGk=\x07,b").text("two\nlines\xFF");
  CHECK(to_csv(table, {.terminal = true}) == "Name,\\x1b[2J\n\"a\\x1b]52;c;aGk=\\x07,b\",two\\x0alines\\xff\n");
  CHECK(to_csv(table) == "Name,\x1b[2J\n\"a\x1b]52;c;aGk=\x07,b\",\"two\nlines\xEF\xBF\xBD\"\n");
}

TEST_CASE("a sink that fails ends the writing", "[report]") {
  Table table({{"Name"}});
  for (int row = 0; row < 100000; ++row) table.text("some name that takes room");
  std::size_t calls = 0, bytes = 0;
  Status status = write_csv(table, {}, [&](std::string_view piece) -> Status {
    bytes += piece.size();
    if (++calls == 2) return Error(ErrorCode::kIo, "disk full");
    return {};
  });
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message() == "disk full");
  CHECK(calls == 2);
  CHECK(bytes < 200'000);
}

TEST_CASE("a table without rows has a header", "[report]") {
  CHECK(to_csv(Table({{"Name"}, {"Time", "%", ColumnType::kDecimal, 1}})) == "Name,Time (%)\n");
}
