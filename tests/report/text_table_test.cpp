// SPDX-License-Identifier: MIT
#include "report/text_table.hpp"

#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

using namespace rangefinder;
using namespace rangefinder::report;
using namespace rangefinder::testing;

namespace {
TextOptions plain(std::size_t width = 0) { return {false, false, width}; }

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    widest = std::max(widest, base::display_width(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return widest;
}
}  // namespace

TEST_CASE("numbers stand right, texts left, times in readable units", "[report]") {
  Table table({{"Time", "%", ColumnType::kDecimal, 1},
               {"Total", "ns", ColumnType::kNanoseconds},
               {"Name"},
               {"Start", "ns", ColumnType::kTimestamp}});
  table.number(694).number(31121662).text("gemm").number(10000);
  table.number(1).null().null().number(1);
  CHECK(to_text(table, plain()) ==
        "  Time     Total  Name    Start (s)\n"
        "------  --------  ----  -----------\n"
        "69.4 %  31.12 ms  gemm  0.000010000\n"
        " 0.1 %         -        0.000000001\n");
}

TEST_CASE("titles take two lines where one would be wider than the terminal", "[report]") {
  Table table({{"Name"},
               {"Launch delay avg", "ns", ColumnType::kNanoseconds},
               {"GPU share", "%", ColumnType::kDecimal, 1},
               {"Operator"},
               {"Calls", "", ColumnType::kInteger}});
  table.text("a").number(1234567).number(694).text("mm").number(1);
  const std::string one_line =
      "Name  Launch delay avg  GPU share  Operator  Calls\n"
      "----  ----------------  ---------  --------  -----\n"
      "a             1.235 ms     69.4 %  mm            1\n";
  CHECK(to_text(table, plain()) == one_line);
  CHECK(to_text(table, plain(50)) == one_line);
  CHECK(to_text(table, plain(49)) ==
        "         Launch     GPU\n"
        "Name  delay avg   share  Operator  Calls\n"
        "----  ---------  ------  --------  -----\n"
        "a      1.235 ms  69.4 %  mm            1\n");
}

TEST_CASE("rules are lines where the terminal has them, headers bold where it has colour", "[report]") {
  Table table({{"Name"}});
  table.text("a");
  CHECK(to_text(table, {true, true, 0}) == "\x1b[1mName\x1b[0m\n────\na\n");
}

TEST_CASE("lines fit the terminal as long as there are texts to shorten", "[report]") {
  Table table({{"Count", "", ColumnType::kInteger}, {"Range"}, {"Kernel"}});
  table.number(1).text(std::string(90, 'r')).text("void " + std::string(200, 'k') + "(int)");
  table.number(22).text("short").text("x");
  for (const std::size_t width : {40u, 60u, 100u, 200u}) {
    CAPTURE(width);
    CHECK(widest_line(to_text(table, {true, false, width})) == width);
    CHECK(widest_line(to_text(table, plain(width))) == width);
  }
  // Two texts of twelve columns are the least.
  CHECK(widest_line(to_text(table, plain(10))) == 5 + 2 + 12 + 2 + 12);
}

TEST_CASE("names cannot write to the terminal", "[report]") {
  Table table({{"Name"}});
  table.text(
      "a\x1b]52;c;aGk=\x07\r\n\xE2\x80\xAE"
      "b\xFF");
  const std::string text = to_text(table, plain());
  CHECK(text ==
        "Name\n" + std::string(text.find('\n', 5) - 5, '-') + "\na\\x1b]52;c;aGk=\\x07\\x0d\\x0a\\u{202e}b\\xff\n");
}

TEST_CASE("one long name does not widen every line", "[report]") {
  Table table({{"Name"}, {"Count", "", ColumnType::kInteger}});
  for (int row = 0; row < 100; ++row) table.text(row == 7 ? std::string(1 << 20, 'n') : "n").number(row);
  CHECK(to_text(table, plain()).size() < 100'000);
  Table last({{"Count", "", ColumnType::kInteger}, {"Name"}});
  for (int row = 0; row < 100; ++row) last.number(row).text(row == 7 ? std::string(1 << 20, 'n') : "n");
  const std::string text = to_text(last, plain());
  CHECK(text.size() > 1 << 20);
  CHECK(text.size() < (1 << 20) + 10'000);
}

TEST_CASE("columns without room are named in whole, over several lines", "[report]") {
  std::vector<Column> columns{{"Name"}};
  for (const char* name : {"Launch delay avg", "GPU accumulation", "Throughput median"}) {
    columns.push_back({name, "", ColumnType::kInteger});
    columns.back().dispensable = 1;
  }
  Table table(columns);
  table.text("a").number(1).number(2).number(3);
  CHECK(to_text(table, plain(26)) ==
        "         Launch\n"
        "Name  delay avg\n"
        "----  ---------\n"
        "a             1\n"
        "(no room for Throughput\n"
        "median, GPU accumulation)\n");
}

TEST_CASE("names of kernels keep their template, and give way after other texts", "[report]") {
  Column kernel{"Kernel"};
  kernel.names = Names::kKernels;
  Table table({kernel, {"Count", "", ColumnType::kInteger}, {"Range"}});
  table.text("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)").number(96);
  table.text("step/forward/transformer/layer.0 and 12 more");
  CHECK(to_text(table, plain(71)) ==
        "Kernel                                    Count  Range\n"
        "----------------------------------------  -----  ----------------------\n"
        "vectorized_elementwise_kernel<4, ...>        96  step/....0 and 12 more\n");
}

TEST_CASE("paths keep their inner ranges", "[report]") {
  Table table({{"Range", "", ColumnType::kPath}, {"Count", "", ColumnType::kInteger}});
  Paths::Node path = Paths::kNothing;
  std::int64_t id = 0;
  for (const char* name : {"step", "forward", "transformer", "layer.0"}) path = table.paths().add(path, ++id, name);
  table.path(path).number(1);
  CHECK(to_text(table, plain(25)) ==
        "Range               Count\n"
        "------------------  -----\n"
        ".../layer.0             1\n");
}

TEST_CASE("rows that were left out are told", "[report]") {
  Table table({{"Name"}});
  table.text("a").text("b").text("c");
  table.select({0});
  CHECK(to_text(table, plain()) == "Name\n----\na\n(2 more rows)\n");
  table.set_filtered_rows(1);
  CHECK(to_text(table, plain()) == "Name\n----\na\n(1 more row; the filter left out 1)\n");
  table.set_filtered_rows(2);
  CHECK(to_text(table, plain()) == "Name\n----\na\n(the filter left out 2 rows)\n");
}

TEST_CASE("columns for programs, and those that hold nothing, are not shown to people", "[report]") {
  const auto shown = [](std::int64_t device) {
    Table table{{{"Name"},
                 {"Device", "ns", ColumnType::kNanoseconds, 0, InText::kUnlessEmpty},
                 {"Path", {}, ColumnType::kText, 0, InText::kNever},
                 {"Count", {}, ColumnType::kInteger}}};
    table.text("a").null().text("x/a").number(1);
    table.text("b").number(device).text("x/b").number(2);
    return to_text(table, {false, false, 0});
  };
  CHECK(shown(0) == "Name  Count\n----  -----\na         1\nb         2\n");
  CHECK(shown(7) == "Name  Device  Count\n----  ------  -----\na          -      1\nb       7 ns      2\n");
}

TEST_CASE("a column of numbers is as wide as the widest of them, in whatever order they come", "[report][property]") {
  std::mt19937_64 random(property_seed("column widths"));
  const auto number = [&]() -> std::int64_t {
    if (random() % 16 == 0) return kNull;
    std::int64_t value = 1;
    for (std::uint64_t digits = random() % 18; digits > 0; --digits) value *= 10;
    value += static_cast<std::int64_t>(random() % 3) - 1;  // where a number has one digit more
    if (random() % 2 == 0) value = static_cast<std::int64_t>(random() >> random() % 60 >> 2);
    return random() % 8 == 0 ? -value : value;
  };
  for (int round = 0; round < 400; ++round) {
    for (const ColumnType type : {ColumnType::kInteger, ColumnType::kDecimal, ColumnType::kNanoseconds,
                                  ColumnType::kTimestamp, ColumnType::kBytes, ColumnType::kFlops}) {
      const bool has_places = type == ColumnType::kDecimal || type == ColumnType::kNanoseconds;
      Table table({{"", "", type, has_places ? static_cast<int>(random() % 3) : 0}, {"Name"}});
      table.set_time_origin(static_cast<std::int64_t>(random() >> random() % 60 >> 3));
      for (std::uint64_t rows = random() % 20; rows > 0; --rows) table.number(number()).text("a");
      std::size_t widest = heading(table.columns()[0]).size();
      for (std::size_t row = 0; row < table.row_count(); ++row)
        widest = std::max(widest, readable_cell(table, row, 0).size());
      const std::string text = to_text(table, plain());
      const std::size_t rule = text.find('\n') + 1;
      CHECK(text.find("  ", rule) - rule == widest);
    }
  }
}
