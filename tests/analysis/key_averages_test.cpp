// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/analysis/key_averages.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::string line_of(const Timeline& timeline, const OperatorGroup& group) {
  return std::string(timeline.text(group.name)) + " x" + std::to_string(group.calls) + " cpu " +
         std::to_string(group.cpu_total_ns) + " self " + std::to_string(group.cpu_self_ns) + " gpu " +
         std::to_string(group.device_total_ns) + " self " + std::to_string(group.device_self_ns);
}

std::vector<std::string> lines_of(const Timeline& timeline) {
  std::vector<std::string> lines;
  const KeyAverages averages = key_averages(timeline);
  for (const OperatorGroup& group : averages.groups) lines.push_back(line_of(timeline, group));
  return lines;
}

TimelineBuilder& op(TimelineBuilder& builder, const char* name, std::int64_t begin_ns, std::int64_t end_ns) {
  return builder.range(name, begin_ns, end_ns).of_kind(RangeKind::kOperator);
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("an operator's own time is without the operators, ranges and calls inside", "[analysis]") {
  TimelineBuilder builder;
  builder.range("forward", 0, 1000);
  op(builder, "aten::linear", 100, 500);
  op(builder, "aten::addmm", 150, 400);
  builder.launch(200).kernel(600, 900).call("cudaLaunchKernel", 190, 230);
  op(builder, "aten::linear", 600, 700);
  builder.range("note", 610, 620).launch(650).kernel(900, 950);
  const Timeline timeline = builder.build();
  CHECK(lines_of(timeline) ==
        Lines{"aten::linear x2 cpu 500 self 240 gpu 350 self 50", "aten::addmm x1 cpu 250 self 210 gpu 300 self 300"});
  CHECK(key_averages(timeline).cpu_ns == 1000);
  CHECK(key_averages(timeline).device_ns == 350);
}

TEST_CASE("an operator that holds nothing but one of its own name is counted once", "[analysis]") {
  TimelineBuilder builder;
  op(builder, "node", 0, 100);
  op(builder, "node", 10, 90);
  op(builder, "node", 20, 80);
  builder.launch(30).kernel(200, 210);
  op(builder, "other", 40, 50);
  op(builder, "node", 200, 300);  // holds two: both count
  op(builder, "node", 210, 220);
  op(builder, "node", 230, 240);
  CHECK(lines_of(builder.build()) ==
        Lines{"node x4 cpu 220 self 190 gpu 10 self 10", "other x1 cpu 10 self 10 gpu 0 self 0"});
}

TEST_CASE("an operator in a call of its own name is counted in neither", "[analysis]") {
  TimelineBuilder builder;
  builder.launch(10).kernel(200, 210).call("cudaLaunchKernel", 0, 100);
  op(builder, "cudaLaunchKernel", 5, 50);
  builder.launch(20).kernel(300, 310);
  const Timeline timeline = builder.build();
  CHECK(lines_of(timeline).empty());
  CHECK(key_averages(timeline).device_ns == 20);
}

TEST_CASE("what overlaps in part is inside of neither", "[analysis]") {
  TimelineBuilder builder;
  op(builder, "a", 0, 100);
  op(builder, "b", 50, 150);
  op(builder, "c", 60, 70);
  builder.on_thread(2);
  op(builder, "d", 20, 30);
  CHECK(lines_of(builder.build()) == Lines{"a x1 cpu 100 self 100 gpu 0 self 0", "b x1 cpu 100 self 90 gpu 0 self 0",
                                           "c x1 cpu 10 self 10 gpu 0 self 0", "d x1 cpu 10 self 10 gpu 0 self 0"});
}

TEST_CASE("nothing gives nothing", "[analysis]") {
  CHECK(key_averages(TimelineBuilder().build()).groups.empty());
  CHECK(key_averages(TimelineBuilder().range("forward", 0, 10).build()).groups.empty());
}

TEST_CASE("operators of other shapes are other groups where that is asked for, and FLOPs come from shapes",
          "[analysis]") {
  TimelineBuilder builder;
  op(builder, "aten::mm", 0, 10);
  op(builder, "aten::mm", 10, 30);
  op(builder, "aten::mm", 30, 70);
  op(builder, "aten::mm", 70, 71);  // tells nothing
  Timeline timeline = builder.build();
  for (const RangeIndex range : {RangeIndex{0}, RangeIndex{1}, RangeIndex{2}}) {
    timeline.operators.append(
        {.range = range, .shapes = timeline.intern(range == 1 ? "[[8, 8], [8, 8]]" : "[[2, 3], [3, 4]]")});
  }
  const KeyAverages by_shape = key_averages(timeline, true);
  REQUIRE(by_shape.groups.size() == 3);
  CHECK(line_of(timeline, by_shape.groups[0]) == "aten::mm x2 cpu 50 self 50 gpu 0 self 0");
  CHECK(timeline.text(by_shape.groups[0].shapes) == "[[2, 3], [3, 4]]");
  CHECK(by_shape.groups[0].flops == 2 * 2 * 2 * 3 * 4);
  CHECK(by_shape.groups[1].flops == 2 * 8 * 8 * 8);
  CHECK(by_shape.groups[0].calls_without_flops == 0);
  CHECK(by_shape.groups[2].flops == 0);
  CHECK(by_shape.groups[2].calls_without_flops == 1);
  const KeyAverages by_name = key_averages(timeline);
  REQUIRE(by_name.groups.size() == 1);
  CHECK(by_name.groups[0].flops == 96 + 1024);
  CHECK(by_name.groups[0].calls_without_flops == 1);
  CHECK(by_name.groups[0].shapes == StringId::kEmpty);
}

namespace {

struct Expected {
  std::uint64_t calls;
  std::int64_t total, self;
  std::uint64_t flops;
  std::int64_t memory, self_memory;
  bool operator==(const Expected&) const = default;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

/// By name and shapes; annotations are left out, and what memory events make.
std::map<std::pair<std::string, std::string>, Expected> expected_in(const std::string& path, std::int64_t& all) {
  std::map<std::pair<std::string, std::string>, Expected> rows;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != 9) throw std::runtime_error(path + ": " + line);
    all += std::stoll(cells[4]);
    if (cells[1] == "0" && cells[0] != "[memory]")
      rows[{cells[0], without_spaces(cells[8])}] = {std::stoull(cells[2]), std::stoll(cells[3]), std::stoll(cells[4]),
                                                    std::stoull(cells[7]), std::stoll(cells[5]), std::stoll(cells[6])};
  }
  return rows;
}

}  // namespace

TEST_CASE("the figures are torch.profiler's own, to the nanosecond", "[analysis]") {
  const char* data = std::getenv("RANGEFINDER_TEST_DATA");
  REQUIRE(data != nullptr);
  const std::string folder = std::string(data) + "/key_averages/";
  LoadOptions options;
  options.operator_inputs = true;
  const Result<Timeline> timeline = load_timeline(folder + "trace.json.gz", options);
  REQUIRE(timeline.ok());
  for (const bool by_shape : {false, true}) {
    std::int64_t all = 0;
    const auto expected = expected_in(folder + (by_shape ? "key_averages_by_shape.csv" : "key_averages.csv"), all);
    const KeyAverages averages = key_averages(*timeline, by_shape);
    CHECK(expected.size() > 50);
    CHECK(averages.groups.size() == expected.size());
    std::size_t allocating = 0;
    for (const OperatorGroup& group : averages.groups) {
      std::string shapes(timeline->text(group.shapes));
      if (by_shape && shapes.empty()) shapes = "[]";  // nodes tell none
      const std::pair key(std::string(timeline->text(group.name)), shapes);
      INFO(key.first << " " << key.second);
      const auto found = expected.find(key);
      REQUIRE(found != expected.end());
      // torch.profiler counts conv2d alone, which calls the others, and no backward pass.
      const bool is_convolution = key.first.find("convolution") != std::string::npos;
      CHECK((group.flops != 0) == (is_convolution || found->second.flops != 0));
      CHECK(Expected{group.calls, group.cpu_total_ns, group.cpu_self_ns, is_convolution ? 0 : group.flops,
                     group.memory_total.host, group.memory_self.host} == found->second);
      CHECK(group.memory_total.device == 0);
      allocating += group.memory_total.host != 0 ? 1 : 0;
    }
    CHECK(allocating > 10);
    CHECK(averages.cpu_ns == all);
  }
}

TEST_CASE("the table is torch.profiler's own, letter by letter", "[analysis]") {
  const char* data = std::getenv("RANGEFINDER_TEST_DATA");
  REQUIRE(data != nullptr);
  const std::string folder = std::string(data) + "/key_averages/";
  LoadOptions options;
  options.operator_inputs = true;
  const Result<Timeline> timeline = load_timeline(folder + "trace.json.gz", options);
  REQUIRE(timeline.ok());
  const auto check = [&](const char* file, bool by_shape, KeyAveragesOrder order) {
    std::ifstream expected(folder + file);
    std::istringstream table(key_averages_table(*timeline, key_averages(*timeline, by_shape), order, 1000));
    std::string line, other;
    std::size_t lines = 0;
    for (; std::getline(expected, line); ++lines) {
      INFO(file << " line " << lines + 1);
      REQUIRE(std::getline(table, other));
      REQUIRE(other == line);
    }
    CHECK(lines > 50);
    CHECK_FALSE(std::getline(table, other));
  };
  check("key_averages.txt", false, KeyAveragesOrder::kCpuSelf);
  check("key_averages_by_shape.txt", true, KeyAveragesOrder::kFlops);
  CHECK(key_averages_table(*timeline, {}).empty());
}

TEST_CASE("the table has columns of the device where there is device time", "[analysis]") {
  KeyAverages averages;
  Timeline timeline;
  averages.groups.push_back(
      {timeline.intern("aten::mm"), StringId::kEmpty, 4, 0, 2'000'000'000, 1'500, 8'000'000, 4'000'000});
  averages.groups.push_back({timeline.intern("aten::add"), StringId::kEmpty, 9, 0, 10, 10, 0, 0});
  averages.cpu_ns = 3'000;
  averages.device_ns = 16'000'000;
  const std::string table = key_averages_table(timeline, averages, KeyAveragesOrder::kCalls, 1);
  INFO(table);
  CHECK(table.find("# of Calls  \n") != std::string::npos);
  CHECK(table.find(" Self CUDA   Self CUDA %    CUDA total  CUDA time avg") != std::string::npos);
  CHECK(table.find("aten::add") != std::string::npos);
  CHECK(table.find("aten::mm") == std::string::npos);  // beyond the limit
  CHECK(table.find("Self CUDA time total: 16.000ms\n") != std::string::npos);
  const std::string all = key_averages_table(timeline, averages, KeyAveragesOrder::kDeviceSelf);
  CHECK(all.find("aten::mm        50.00%       1.500us  66666666.67%        2.000s     500.000ms       4.000ms        "
                 "25.00%       8.000ms       2.000ms             4  \n") != std::string::npos);
  CHECK(all.find("aten::mm") < all.find("aten::add"));
}
