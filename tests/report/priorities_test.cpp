// SPDX-License-Identifier: MIT
//
// What of a view stays on a narrow terminal.
#include "base/text.hpp"
#include "report/text_table.hpp"
#include "report/view.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::report;
using namespace rangefinder::testing;

namespace {

/// A row of a view in which every column has something.
Table full_row(std::string_view view, const ViewOptions& options = {}) {
  ViewOptions given = options;
  const auto found = find_view(view, given);
  REQUIRE(found.ok());
  // Work of a device, so that the host's figures do not take the place of its.
  const Timeline timeline = TimelineBuilder().range("step", 0, 100).launch(10).kernel(20, 40).build();
  const ProjectedTimeline projected(timeline, {});
  const auto empty = make_table(**found, projected, given);
  REQUIRE(empty.ok());
  Table table(empty->columns());
  const Paths::Node path = table.paths().add(Paths::kNothing, 1, "a_name_of_a_usual_length_for_it");
  for (const Column& column : empty->columns()) {
    if (column.type == ColumnType::kText)
      table.text("a_name_of_a_usual_length_for_it");
    else if (is_path(column.type))
      table.path(path);
    else
      table.number(column.type == ColumnType::kInteger   ? 12'345
                   : column.type == ColumnType::kDecimal ? 987
                                                         : 1'234'567'890);
  }
  return table;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// The titles that are shown at that width, of one line or two.
bool shows(const std::string& text, const std::string& title) {
  const std::size_t note = std::min(text.find("(no room for"), text.size());
  std::string names = text.substr(note);
  std::replace(names.begin(), names.end(), '\n', ' ');
  return names.find(" " + title + ",") == std::string::npos && names.find(" " + title + ")") == std::string::npos;
}

}  // namespace

TEST_CASE("what has to be shown of our views fits into 80 columns", "[report]") {
  for (const View* view : views()) {
    if (view->compatible) continue;
    for (const bool more : {false, true}) {
      ViewOptions options;
      options.instances = options.by_shape = more;
      const std::string text = to_text(full_row(view->name, options), {true, false, 80});
      INFO(view->name << "\n" << text);
      for (const std::string& line : lines_of(text)) CHECK(base::display_width(line) <= 80);
    }
  }
}

TEST_CASE("what a view is for stays, and what explains it goes first", "[report]") {
  struct Kept {
    std::string_view view;
    std::vector<std::string> titles;
  };
  const Kept kept[] = {
      {"ranges", {"Range", "Count", "Host", "GPU busy", "GPU share", "GPU self"}},
      {"tree", {"Range", "Count", "Host", "GPU busy", "GPU share", "GPU self"}},
      {"advice", {"Rule", "Gain", "Gain share", "Finding"}},
      {"kernels", {"Kernel", "Count", "Total", "Share"}},
      {"ops", {"Operator", "Calls", "Self CPU", "CPU total", "Self GPU", "GPU total", "FLOPs"}},
      {"launches", {"Kernel", "Count", "Total", "Grid", "Block", "Occupancy"}},
      {"memcpy", {"Operation", "Count", "Bytes", "Total", "Throughput"}},
      {"sync", {"Range", "Reason", "Count", "Blocked", "Share"}},
      {"memory", {"Range", "Memory", "Allocated", "Freed", "Delta", "Peak"}},
      {"memory_devices", {"Memory", "Pool", "Peak", "Peak reserved", "Most unused", "Growth a step"}},
      {"memory_fragmentation", {"Memory", "Reserved", "Allocated", "External fragmentation", "Internal fragmentation"}},
      {"roofline", {"Range", "Busy", "GFLOP/s", "GB/s", "FLOP a byte", "Bound by", "Of peak"}},
      {"roofline_operators", {"Operator", "Calls", "Busy", "GFLOP/s", "GB/s", "FLOP a byte", "Bound by", "Of peak"}},
      {"energy", {"Range", "GPU busy", "Energy", "Energy share", "Power"}},
      {"cpu_counters", {"Range", "CPU time", "Instructions", "Instructions a cycle", "Cache miss rate"}},
      {"steps", {"Step", "Time", "Data wait", "Forward", "Backward", "Optimizer", "GPU busy", "GPU idle"}},
      {"breakdown", {"Device", "Computation", "Communication", "Exposed communication", "Idle", "Total"}},
      {"streams", {"Device", "Stream", "Busy", "Share", "Alone", "With others"}},
      {"idle", {"Range", "Reason", "Device", "Stream", "Idle", "Share"}},
      {"threads", {"Thread", "Running", "In collectives", "Idle"}},
      {"parallelism", {"Range", "Wall", "Threads running", "Efficiency", "CPU time", "CPU share"}},
      {"backward", {"Range", "Host", "Backward", "Backward share"}},
      {"collective_calls", {"Collective", "Rank", "Number", "Bytes", "Work begin", "Work"}},
      {"unattributed", {"Reason", "Operations", "Total", "Share", "Operation"}}};
  for (const Kept& each : kept) {
    const std::string text = to_text(full_row(each.view), {true, false, 80});
    INFO(text);
    for (const std::string& title : each.titles) CHECK((shows(text, title) ? "" : title) == "");
  }
}

TEST_CASE("shapes and FLOPs of operators stay, memory and averages go", "[report]") {
  ViewOptions options;
  options.by_shape = true;
  const std::string text = to_text(full_row("ops", options), {true, false, 110});
  INFO(text);
  for (const char* title : {"Shapes", "FLOPs", "Self GPU share"}) CHECK(shows(text, title));
  for (const char* title : {"CPU memory", "Self CPU memory", "GPU memory", "Self GPU memory"})
    CHECK_FALSE(shows(text, title));
}
