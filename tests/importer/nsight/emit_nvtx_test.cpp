// SPDX-License-Identifier: MIT
#include "importer/nsight/emit_nvtx.hpp"

#include "analysis/nsight/ranges.hpp"
#include "importer/nsight/nsight_file.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/projection.hpp>

#include <map>
#include <string>

using namespace rangefinder;
using importer::nsight::parse_operator_text;
using rangefinder::testing::NsightFile;

namespace {

constexpr int kForward = 1000, kEngine = 1001, kOtherForward = 1002;

std::string name_of(const Timeline& timeline, RangeIndex range) {
  return std::string(timeline.text(timeline.ranges.name[range]));
}

std::int64_t forward_thread(const Timeline& timeline, std::size_t node) {
  const ThreadIndex thread = timeline.autograd_nodes.forward_thread[node];
  return thread == kNone ? -1 : timeline.threads[thread].tid;
}

RangeIndex range_of(const Timeline& timeline, std::string_view name) {
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range)
    if (timeline.text(timeline.ranges.name[range]) == name) return range;
  return kNone;
}

/// A layer of two operators, and its backward as torch 2 writes it.
void add_training(NsightFile& file) {
  file.range("layer, op_id = 1", 0, 100, kForward)
      .range("aten::linear, seq = 7, op_id = 2", 5, 50, kForward)
      .range("aten::addmm, seq = 7, op_id = 4, sizes = [[8], [4, 8], []], input_op_ids = [(0,-1), (3,0), (0,-1)]", 20,
             40, kForward)
      .range("aten::relu, seq = 8, op_id = 5", 60, 70, kForward)
      .range("backward", 200, 400, kForward)
      .range("autograd::engine::evaluate_function: AddmmBackward0, op_id = 9", 210, 280, kEngine)
      .range("AddmmBackward0, seq = 7, op_id = 10", 215, 260, kEngine)
      .range("aten::mm, op_id = 11", 220, 230, kEngine)
      .range("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad, op_id = 12", 300, 350, kEngine)
      .range("torch::autograd::AccumulateGrad, op_id = 13", 310, 340, kEngine)
      .launch("forward", 21, 22, 1000, 1010, 1, kForward)
      .launch("backward", 221, 222, 1010, 1030, 2, kEngine)
      .launch("sum", 265, 270, 1030, 1070, 3, kEngine)
      .launch("accumulate", 311, 312, 1070, 1150, 4, kEngine);
}

}  // namespace

TEST_CASE("the texts of emit_nvtx are a name, and what is told of the operator", "[importer_nsight]") {
  const auto whole = parse_operator_text(
      "aten::addmm, seq = 7, op_id = 4, sizes = [[8], [4, -8], []], input_op_ids = [(0,-1), (3,0)]");
  REQUIRE(whole);
  CHECK(whole->name == "aten::addmm");
  CHECK(whole->sequence == 7);
  CHECK(whole->shapes == "[[8], [4, -8], []]");
  const auto old = parse_operator_text("aten::mm, seq = 12");
  REQUIRE(old);
  CHECK(old->sequence == 12);
  CHECK(old->shapes.empty());
  const auto without = parse_operator_text("my, range, op_id = 3");
  REQUIRE(without);
  CHECK(without->name == "my, range");
  CHECK(without->sequence == -1);
  const auto empty_list = parse_operator_text("aten::ones, sizes = []");
  REQUIRE(empty_list);
  CHECK(empty_list->shapes == "[]");
}

TEST_CASE("texts that only look like those of emit_nvtx are left alone", "[importer_nsight]") {
  for (const char* text :
       {"step", "", ", seq = 3", "a, seq = ", "a, seq = x", "a, seq = -1", "a, seq = 3 ", "a, seq = 3, more",
        "a, seq = 99999999999999999999", "a, op_id = 3, seq = 4 of 5", "a, sizes = [[1], [2]", "a, sizes = [1] [2]",
        "a, sizes = [(1,2)]", "a, sizes = [1,2]", "a, sizes = [1, ]", "a, sizes = ]", "a, input_op_ids = [(1,0)]"}) {
    INFO(text);
    CHECK_FALSE(parse_operator_text(text));
  }
}

TEST_CASE("ranges of emit_nvtx are operators, and know who made them", "[importer_nsight]") {
  NsightFile file;
  add_training(file);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(name_of(*timeline, RangeIndex{2}) == "aten::addmm");
  CHECK(timeline->ranges.kind[2] == RangeKind::kOperator);
  CHECK(timeline->ranges.kind[7] == RangeKind::kOperator);
  // A record_function stays what it was, by its own name.
  CHECK(name_of(*timeline, RangeIndex{0}) == "layer");
  CHECK(timeline->ranges.kind[0] == RangeKind::kAnnotation);
  CHECK(name_of(*timeline, RangeIndex{4}) == "backward");
  CHECK(timeline->ranges.kind[4] == RangeKind::kAnnotation);

  const AutogradNodeTable& nodes = timeline->autograd_nodes;
  REQUIRE(nodes.size() == 4);
  CHECK(nodes.sequence == std::vector<std::int64_t>{7, 7, -1, -1});
  CHECK(nodes.begin_ns == std::vector<std::int64_t>{210, 215, 300, 310});
  for (const std::size_t node : {0u, 1u}) {
    CHECK(forward_thread(*timeline, node) == kForward);
    CHECK(nodes.forward_ns[node] == 20);
  }
  CHECK(forward_thread(*timeline, 2) == -1);
}

TEST_CASE("the backward of an Nsight export counts for the layer that made it", "[importer_nsight]") {
  NsightFile file;
  add_training(file);
  const auto timeline = file.import();
  REQUIRE(timeline);
  const RangeIndex layer = range_of(*timeline, "layer");
  const Projection forward = project(*timeline, {});
  CHECK(forward.attribution == Attribution::kForward);
  CHECK(forward.inclusive[layer].gpu_sum_ns == 10 + 20 + 40);  // all but the accumulation
  CHECK(forward.pass == std::vector<Pass>{Pass::kForward, Pass::kBackward, Pass::kBackward, Pass::kAccumulation});
  ProjectionOptions by_launch;
  by_launch.attribution = Attribution::kLaunch;
  CHECK(project(*timeline, by_launch).inclusive[layer].gpu_sum_ns == 10);
}

TEST_CASE("versions without the engine's ranges name their nodes", "[importer_nsight]") {
  NsightFile file;
  file.range("mul, seq = 3", 0, 10, kForward)
      .range("MyFunction, seq = 4", 20, 30, kForward)
      .range("MyFunctionBackward, seq = 4", 100, 110, kEngine)
      .range("MulBackward0, seq = 3", 120, 130, kEngine)
      .range("mul, seq = 0", 122, 124, kEngine)
      .range("struct torch::autograd::AccumulateGrad, sizes = [[4]]", 140, 150, kEngine);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->autograd_nodes.sequence == std::vector<std::int64_t>{4, 3, -1});
  CHECK(timeline->autograd_nodes.forward_ns == std::vector<std::int64_t>{20, 0, kNoTime});
}

TEST_CASE("an operator inside the engine's range is no node because of its name", "[importer_nsight]") {
  NsightFile file;
  file.range("aten::mul, seq = 3, op_id = 1", 0, 10, kForward)
      .range("autograd::engine::evaluate_function: PyBackward, op_id = 2", 100, 200, kEngine)
      .range("PyBackward, seq = 3, op_id = 3", 110, 190, kEngine)
      .range("HelperBackward, seq = 0, op_id = 4", 120, 130, kEngine);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->autograd_nodes.sequence == std::vector<std::int64_t>{3, 3});
}

TEST_CASE("a number told twice on the forward thread is the last operator's", "[importer_nsight]") {
  NsightFile file;
  file.range("aten::t, seq = 5, op_id = 1", 0, 10, kForward)
      .range("aten::mm, seq = 5, op_id = 2", 20, 30, kForward)
      .range("MmBackward0, seq = 5, op_id = 3", 100, 110, kForward)  // on the CPU the engine runs on the same thread
      .range("aten::mm, seq = 5, op_id = 4", 200, 210, kForward);
  const auto timeline = file.import();
  REQUIRE(timeline);
  REQUIRE(timeline->autograd_nodes.size() == 1);
  CHECK(timeline->autograd_nodes.forward_ns[0] == 20);
  CHECK(forward_thread(*timeline, 0) == kForward);
}

TEST_CASE("of several threads that told a number, the one whose nodes an engine's thread runs made it",
          "[importer_nsight]") {
  // Both count from 0. Each has an engine's thread of its own; the texts say nothing about it.
  NsightFile file;
  const auto numbered = [](const char* name, int number) { return name + (", seq = " + std::to_string(number)); };
  for (int i = 0; i < 6; ++i) file.range(numbered("aten::mul", i), 10 * i, 10 * i + 5, kForward);
  for (int i = 4; i < 12; ++i) file.range(numbered("aten::mul", i), 10 * i, 10 * i + 5, kOtherForward);
  for (int i = 0; i < 6; ++i) file.range(numbered("MulBackward0", i), 500 + 10 * i, 505 + 10 * i, kEngine);
  for (int i = 4; i < 12; ++i) file.range(numbered("MulBackward0", i), 500 + 10 * i, 505 + 10 * i, 1003);
  const auto timeline = file.import();
  REQUIRE(timeline);
  std::map<std::int64_t, int> makers;
  for (std::size_t node = 0; node < timeline->autograd_nodes.size(); ++node) ++makers[forward_thread(*timeline, node)];
  CHECK(makers == std::map<std::int64_t, int>{{kForward, 6}, {kOtherForward, 8}});
}

TEST_CASE("two threads that told a number equally often are not guessed between", "[importer_nsight]") {
  NsightFile file;
  file.range("aten::mul, seq = 0", 0, 5, kForward)
      .range("aten::mul, seq = 0", 0, 5, kOtherForward)
      .range("MulBackward0, seq = 0", 20, 30, kEngine);
  const auto timeline = file.import();
  REQUIRE(timeline);
  REQUIRE(timeline->autograd_nodes.size() == 1);
  CHECK(forward_thread(*timeline, 0) == -1);
}

TEST_CASE("Nsight's own views show the whole texts, of operators too", "[importer_nsight]") {
  NsightFile file;
  add_training(file);
  const auto timeline = file.import();
  REQUIRE(timeline);
  analysis::nsight::Labels labels(*timeline);
  std::vector<std::string> texts;
  for (const auto& row : analysis::nsight::pushpop_trace(*timeline))
    texts.emplace_back(labels.text(labels.range(row.range)));
  REQUIRE(texts.size() == 10);
  CHECK(texts[0] == "layer, op_id = 1");
  CHECK(texts[2] ==
        "aten::addmm, seq = 7, op_id = 4, sizes = [[8], [4, 8], []], input_op_ids = [(0,-1), (3,0), (0,-1)]");
  CHECK(texts[4] == "backward");
}

TEST_CASE("the sizes of emit_nvtx are the operators' shapes, when asked for", "[importer_nsight]") {
  NsightFile file;
  add_training(file);
  LoadOptions options;
  CHECK(file.import(options)->operators.size() == 0);
  options.operator_inputs = true;
  const auto timeline = file.import(options);
  REQUIRE(timeline);
  REQUIRE(timeline->operators.size() == 1);
  CHECK(timeline->operators.range[0] == 2);
  CHECK(timeline->operators.sequence[0] == 7);
  CHECK(timeline->text(timeline->operators.shapes[0]) == "[[8],[4,8],[]]");
  CHECK(timeline->operators.forward_thread_id[0] == 0);
  const testing::ScratchFolder folder(true);
  REQUIRE(export_chrome_trace(*timeline, folder.file("trace.json")));
}

TEST_CASE("start/end ranges and files without emit_nvtx stay as they are", "[importer_nsight]") {
  NsightFile file;
  file.range("request, seq = 3", 10, 20, kForward, 60).range("FooBackward0", 30, 40, kEngine);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(name_of(*timeline, RangeIndex{0}) == "request, seq = 3");
  CHECK(timeline->ranges.kind == std::vector<RangeKind>{RangeKind::kAnnotation, RangeKind::kAnnotation});
  CHECK(timeline->attachments.empty());
  CHECK(timeline->autograd_nodes.size() == 0);
  CHECK(project(*timeline, {}).attribution == Attribution::kLaunch);
}
