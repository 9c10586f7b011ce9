// SPDX-License-Identifier: MIT
//
// Where the nodes of a CUDA graph were made, as our own export says it of each operation.
#include "importer/kineto/captured_nodes.hpp"

#include "support/timeline_columns.hpp"
#include "trace_text.hpp"

#include <rangefinder/projection.hpp>

#include <map>
#include <string>
#include <tuple>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::load;
using rangefinder::testing::Loaded;
using rangefinder::testing::trace_of;

namespace {

/// Kernels of one replay on device 0, one behind the other, each 10 us, with what is said of their capture.
class Replay {
 public:
  /// `captured_in`: a JSON list; empty: not said.
  Replay& kernel(int captured_tid, int captured_us, const std::string& captured_in = {}) {
    const int begin = 1'000 + 10 * kernels_++;
    std::string arguments =
        "\"device\": 0, \"stream\": 7, \"correlation\": 1, \"graph node id\": " + std::to_string(kernels_) +
        ", \"Captured tid\": " + std::to_string(captured_tid) + ", \"Captured ts\": " + std::to_string(captured_us);
    if (!captured_in.empty()) arguments += ", \"Captured in\": " + captured_in;
    text_ += ",\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": " +
             std::to_string(begin) + ", \"dur\": 10, \"args\": {" + arguments + "}}";
    return *this;
  }
  Loaded loaded() const { return load(trace_of(text_)); }

 private:
  int kernels_ = 0;
  std::string text_ =
      "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"replay\", \"pid\": 1, \"tid\": 5, \"ts\": 900, "
      "\"dur\": 50, \"args\": {}},\n"
      "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaGraphLaunch\", \"pid\": 1, \"tid\": 5, \"ts\": 910, "
      "\"dur\": 5, \"args\": {\"correlation\": 1}}";
};

/// The names of the owners of the kernels in order, "-" for none.
std::vector<std::string> owners(const Timeline& timeline) {
  const Projection projection = project(timeline, {Attribution::kCapture, true, false});
  std::vector<std::string> names;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
    const RangeIndex owner(projection.owner[row]);
    names.push_back(owner != kNone ? std::string(timeline.text(timeline.ranges.name[owner])) : "-");
  }
  return names;
}

}  // namespace

TEST_CASE("ranges of captures before the recording are as deep as they are said, and each is there once", "[kineto]") {
  const Loaded trace = Replay()
                           .kernel(77, 10, R"(["model", "layer.0"])")
                           .kernel(77, 20, R"(["model", "layer.0"])")
                           .kernel(77, 30, R"(["model", "layer \"1\""])")
                           .kernel(78, 25, R"(["model"])")
                           .kernel(77, 10, R"(["model", "layer.0"])")  // of the same launch
                           .loaded();
  const RangeTable& ranges = trace.timeline.ranges;
  using Range = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // thread, begin, end
  std::multimap<std::string, Range> captured;
  for (RangeIndex row{0}; row < ranges.size(); ++row) {
    if ((ranges.flags[row] & kBeforeRecording) == 0) continue;
    CHECK(ranges.style[row] == RangeStyle::kScoped);
    captured.emplace(trace.text(ranges.name[row]),
                     Range{trace.timeline.threads[ranges.thread[row]].tid, ranges.begin_ns[row], ranges.end_ns[row]});
  }
  CHECK(captured == std::multimap<std::string, Range>{{"layer \"1\"", {77, 30'000, 30'000}},
                                                      {"layer.0", {77, 10'000, 20'000}},
                                                      {"model", {77, 10'000, 30'000}},
                                                      {"model", {78, 25'000, 25'000}}});
  CHECK(trace.timeline.threads.size() == 3);
  CHECK(owners(trace.timeline) == std::vector<std::string>{"layer.0", "layer.0", "layer \"1\"", "model", "layer.0"});
}

TEST_CASE("what was captured in no range stays with its replay", "[kineto]") {
  const Loaded trace = Replay().kernel(5, 10).kernel(99, 20).loaded();
  REQUIRE(trace.timeline.activities.size() == 2);
  // Of a thread that is in no event, and in no range, nothing is known.
  CHECK(trace.timeline.activities.captured[0] != kNone);
  CHECK(trace.timeline.activities.captured[1] == kNone);
  CHECK(owners(trace.timeline) == std::vector<std::string>{"replay", "replay"});
}

TEST_CASE("of what is said of captures the strings are names, and the rest is passed over", "[kineto]") {
  const Loaded trace = Replay()
                           .kernel(5, 10, R"([])")
                           .kernel(5, 20, R"([7, "a"])")
                           .kernel(5, 30, R"("b")")
                           .kernel(5, 40, R"({"x": "c"})")
                           .loaded();
  CHECK(owners(trace.timeline) == std::vector<std::string>{"replay", "a", "b", "c"});
}
