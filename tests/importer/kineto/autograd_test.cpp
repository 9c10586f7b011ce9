// SPDX-License-Identifier: MIT
#include "importer/kineto/autograd.hpp"

#include "trace_text.hpp"

#include <map>
#include <string>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::load;
using rangefinder::testing::Loaded;
using rangefinder::testing::trace_of;

namespace {

/// Operators as torch writes them; times in microseconds.
class Operators {
 public:
  /// `forward_thread` 0: an operator of the forward pass, or one that makes no node.
  Operators& add(const std::string& name, int tid, int begin, int end, int sequence, int forward_thread) {
    return event(
        name, tid, begin, end,
        "\"Sequence number\": " + std::to_string(sequence) + ", \"Fwd thread id\": " + std::to_string(forward_thread));
  }
  Operators& without_number(const std::string& name, int tid, int begin, int end) {
    return event(name, tid, begin, end, "\"Ev Idx\": 0");
  }
  Loaded loaded() const { return load(trace_of(text_)); }

 private:
  Operators& event(const std::string& name, int tid, int begin, int end, const std::string& arguments) {
    if (!text_.empty()) text_ += ",\n";
    text_ += "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" + name +
             "\", \"pid\": 1, \"tid\": " + std::to_string(tid) + ", \"ts\": " + std::to_string(begin) +
             ", \"dur\": " + std::to_string(end - begin) + ", \"args\": {" + arguments + "}}";
    return *this;
  }
  std::string text_;
};

std::int64_t tid_of(const Timeline& timeline, ThreadIndex thread) {
  return thread == kNone ? -1 : timeline.threads[thread].tid;
}

}  // namespace

TEST_CASE("a node was made by the last operator that told its number", "[kineto]") {
  // aten::t makes no node and tells the number of the next one, as aten::linear around all does.
  const Loaded trace = Operators()
                           .add("aten::linear", 10, 0, 50, 7, 0)
                           .add("aten::t", 10, 5, 10, 7, 0)
                           .add("aten::addmm", 10, 20, 40, 7, 0)
                           .add("aten::relu", 10, 60, 70, 8, 0)
                           .add("autograd::engine::evaluate_function: AddmmBackward0", 11, 100, 150, 7, 1)
                           .add("AddmmBackward0", 11, 110, 140, 7, 1)
                           .loaded();
  const AutogradNodeTable& nodes = trace.timeline.autograd_nodes;
  REQUIRE(nodes.size() == 2);
  for (std::size_t node = 0; node < 2; ++node) {
    CHECK(nodes.sequence[node] == 7);
    CHECK(tid_of(trace.timeline, nodes.thread[node]) == 11);
    CHECK(tid_of(trace.timeline, nodes.forward_thread[node]) == 10);
    CHECK(nodes.forward_ns[node] - trace.timeline.begin_ns == 20'000);
  }
  CHECK(nodes.begin_ns[0] < nodes.begin_ns[1]);
}

TEST_CASE("threads that made nodes are told apart by their numbers", "[kineto]") {
  // Both count from their own start: number 5 is told by both, and most numbers by one of them.
  Operators operators;
  for (int i = 0; i < 6; ++i) operators.add("aten::mul", 10, 10 * i, 10 * i + 5, i, 0);
  for (int i = 5; i < 12; ++i) operators.add("aten::mul", 20, 10 * i, 10 * i + 5, i, 0);
  for (int i = 0; i < 6; ++i) operators.add("MulBackward0", 30, 500 + 10 * i, 505 + 10 * i, i, 1);
  for (int i = 5; i < 12; ++i) operators.add("MulBackward0", 30, 600 + 10 * i, 605 + 10 * i, i, 2);
  const Loaded trace = operators.loaded();
  const AutogradNodeTable& nodes = trace.timeline.autograd_nodes;
  REQUIRE(nodes.size() == 13);
  std::map<std::int64_t, int> forward_thread;
  for (const ThreadIndex thread : nodes.forward_thread) ++forward_thread[tid_of(trace.timeline, thread)];
  CHECK(forward_thread == std::map<std::int64_t, int>{{10, 6}, {20, 7}});
}

TEST_CASE("gradient accumulation has no number, and a node may have been made before the recording", "[kineto]") {
  const Loaded trace =
      Operators()
          .add("aten::mul", 10, 0, 5, 100, 0)
          .add("MulBackward0", 11, 50, 60, 100, 1)
          .add("ReluBackward0", 11, 70, 80, 3, 1)
          .without_number("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 11, 90, 99)
          .without_number("torch::autograd::AccumulateGrad", 11, 92, 98)
          .loaded();
  const AutogradNodeTable& nodes = trace.timeline.autograd_nodes;
  REQUIRE(nodes.size() == 4);
  CHECK(tid_of(trace.timeline, nodes.forward_thread[0]) == 10);
  CHECK(nodes.forward_thread[1] == kNone);
  CHECK(nodes.forward_ns[1] == kNoTime);
  CHECK(nodes.sequence[2] == -1);
  CHECK(nodes.sequence[3] == -1);
}

TEST_CASE("an operator that ran after the node did not make it", "[kineto]") {
  const Loaded trace = Operators()
                           .add("aten::mul", 10, 0, 5, 0, 0)
                           .add("MulBackward0", 11, 20, 30, 0, 1)
                           .add("aten::mul", 10, 40, 45, 0, 0)
                           .loaded();
  const AutogradNodeTable& nodes = trace.timeline.autograd_nodes;
  REQUIRE(nodes.size() == 1);
  CHECK(nodes.forward_ns[0] - trace.timeline.begin_ns == 0);
}

TEST_CASE("two threads that fit equally well are not guessed between", "[kineto]") {
  const Loaded trace = Operators()
                           .add("aten::mul", 10, 0, 5, 0, 0)
                           .add("aten::mul", 20, 0, 5, 0, 0)
                           .add("MulBackward0", 30, 20, 30, 0, 1)
                           .loaded();
  REQUIRE(trace.timeline.autograd_nodes.size() == 1);
  CHECK(trace.timeline.autograd_nodes.forward_thread[0] == kNone);
}

TEST_CASE("a trace without nodes has no nodes", "[kineto]") {
  CHECK(Operators().add("aten::mul", 10, 0, 5, 0, 0).loaded().timeline.autograd_nodes.size() == 0);
}
