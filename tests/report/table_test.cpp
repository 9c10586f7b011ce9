// SPDX-License-Identifier: MIT
#include "report/table.hpp"

#include "support/catch.hpp"

using namespace rangefinder::report;

TEST_CASE("a table is filled from left to right", "[report]") {
  Table table({{"Name"}, {"Count", "", ColumnType::kInteger}});
  CHECK(table.row_count() == 0);
  table.text("a").number(3).text("b").null();
  REQUIRE(table.row_count() == 2);
  CHECK(table.text_at(0, 0) == "a");
  CHECK(table.number_at(0, 1) == 3);
  CHECK_FALSE(table.is_null(0, 1));
  CHECK(table.is_null(1, 1));
}

TEST_CASE("no text and an empty text differ", "[report]") {
  Table table({{"Name"}});
  table.text("").null();
  CHECK_FALSE(table.is_null(0, 0));
  CHECK(table.is_null(1, 0));
  CHECK(table.text_at(1, 0).empty());
}

TEST_CASE("a selection can be selected from", "[report]") {
  Table table({{"Name"}});
  for (const char* name : {"a", "b", "c", "d"}) table.text(name);
  table.select({3, 1, 0});
  table.select({2, 0});
  REQUIRE(table.row_count() == 2);
  CHECK(table.text_at(0, 0) == "a");
  CHECK(table.text_at(1, 0) == "d");
  CHECK(table.hidden_rows() == 2);
}

TEST_CASE("keys are for programs, headers for CSV", "[report]") {
  const Column percent{"Time", "%", ColumnType::kDecimal, 1};
  CHECK(percent.key() == "time_percent");
  CHECK(percent.header() == "Time (%)");
  CHECK(Column{"Throughput", "MB/s"}.key() == "throughput_mb_s");
  CHECK(Column{"Reg/Trd"}.key() == "reg_trd");
  CHECK(Column{"NVTX Range"}.key() == "nvtx_range");
  CHECK(Column{"NVTX Range"}.header() == "NVTX Range");
  CHECK(unique_keys({{"Name"}, {"name"}, {"NAME"}}) == std::vector<std::string>{"name", "name_2", "name_3"});
}

TEST_CASE("numbers are written with exactly their decimals", "[report]") {
  CHECK(plain_number(125, 1) == "12.5");
  CHECK(plain_number(5, 1) == "0.5");
  CHECK(plain_number(5, 3) == "0.005");
  CHECK(plain_number(0, 3) == "0.000");
  CHECK(plain_number(-5, 1) == "-0.5");
  CHECK(plain_number(-1234, 0) == "-1234");
  CHECK(plain_number(9223372036854775807, 0) == "9223372036854775807");
  CHECK(plain_number(-9223372036854775807, 3) == "-9223372036854775.807");
}
