// SPDX-License-Identifier: MIT
#include "report/find_column.hpp"

#include "support/catch.hpp"

using namespace rangefinder;
using namespace rangefinder::report;

namespace {

const std::vector<Column>& some_columns() {
  static const std::vector<Column> columns{{"Range"},
                                           {"Count", "", ColumnType::kInteger},
                                           {"Host", "ns", ColumnType::kNanoseconds},
                                           {"Host avg", "ns", ColumnType::kNanoseconds},
                                           {"GPU busy", "ns", ColumnType::kNanoseconds},
                                           {"GPU share", "%", ColumnType::kDecimal, 1},
                                           {"Rate", "GB/s", ColumnType::kDecimal, 1},
                                           {"Rate", "GFLOP/s", ColumnType::kDecimal, 1}};
  return columns;
}

std::string found(std::string_view wanted) {
  const Result<std::size_t> column = find_column(some_columns(), wanted);
  return column.ok() ? std::to_string(*column) : column.error().message();
}

}  // namespace

TEST_CASE("a column is found by key, title, header and key without the unit, in any case", "[report]") {
  for (const char* wanted : {"gpu_busy_ns", "GPU busy", "GPU busy (ns)", "gpu busy", "gpu_busy", "Gpu-Busy"})
    CHECK(found(wanted) == "4");
  for (const char* wanted : {"host", "Host", "HOST", "host_ns"}) CHECK(found(wanted) == "2");
  for (const char* wanted : {"GPU share (%)", "gpu_share_percent", "gpu_share"}) CHECK(found(wanted) == "5");
}

TEST_CASE("the beginning of a key is enough where no other column begins so", "[report]") {
  CHECK(found("ra") == "\"ra\" is ambiguous: range, rate_gb_s or rate_gflop_s");
  CHECK(found("ran") == "0");
  CHECK(found("gpu_b") == "4");
  CHECK(found("c") == "1");
  CHECK(found("host_a") == "3");
}

TEST_CASE("what may be several columns is answered with these", "[report]") {
  CHECK(found("gpu") == "\"gpu\" is ambiguous: gpu_busy_ns or gpu_share_percent");
  CHECK(found("Rate") == "\"Rate\" is ambiguous: rate_gb_s or rate_gflop_s");
}

TEST_CASE("what is no column is answered with the nearest and with all", "[report]") {
  const std::string all =
      "the columns are range, count, host_ns, host_avg_ns, gpu_busy_ns, gpu_share_percent, rate_gb_s, rate_gflop_s";
  CHECK(found("gpu_bsy") == "no column \"gpu_bsy\"; did you mean gpu_busy_ns? " + all);
  CHECK(found("qqqqqqqqqq") == "no column \"qqqqqqqqqq\"; " + all);
  CHECK(found("") == "no column \"\"; " + all);
  CHECK(found("\x1b[2J") == "no column \"\\x1b[2J\"; " + all);
}
