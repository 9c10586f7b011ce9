// SPDX-License-Identifier: MIT
//
// Operators of a framework that is made up here.
#include "session/session_fixture.hpp"
#include "support/timeline_columns.hpp"

#include <rangefinder/detail/operators.hpp>

using namespace rangefinder;
using rangefinder::testing::numbers_of;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;

namespace {

void run_operator(const char* name, std::int64_t sequence = -1, std::uint64_t forward_thread = 0,
                  std::uint32_t inputs = 0) {
  std::uint64_t word = 0;
  const std::uint64_t token = detail::begin_operator(name, sequence, forward_thread, inputs, word);
  detail::end(token, word);
}

Timeline load_with_inputs(const std::string& path) {
  LoadOptions options;
  options.operator_inputs = true;
  Result<Timeline> timeline = load_timeline(path, options);
  REQUIRE(timeline.ok());
  return std::move(*timeline);
}

}  // namespace

TEST_CASE("what operators tell is in the capture, of each recording", "[session]") {
  const ScratchFolder folder;
  const std::uint32_t inputs = detail::intern_inputs("[[4]]\n[\"float\"]\n[\"\"]");
  REQUIRE(inputs != 0);
  run_operator("aten::before", 1, 0, inputs);
  detail::count_lost_inputs();
  for (const char* file : {"a.rfcap", "b.rfcap"}) {
    Recording session(host_only(folder.file(file)));
    run_operator("aten::mul", 5, 0, inputs);
    run_operator("aten::empty");
    run_operator("MulBackward0", 5, 3);
    detail::count_lost_inputs();
    detail::count_sampled_out();
    REQUIRE(session->stop().ok());
    const Timeline timeline = load_with_inputs(folder.file(file));
    const OperatorTable& operators = timeline.operators;
    CHECK(count_of(timeline, "aten::before") == 0);
    CHECK(timeline.ranges.size() == 3);
    CHECK(timeline.ranges.kind == std::vector<RangeKind>(3, RangeKind::kOperator));
    CHECK(numbers_of(operators.range) == std::vector<std::uint32_t>{0, 2});
    CHECK(operators.sequence == std::vector<std::int64_t>{5, 5});
    CHECK(operators.forward_thread_id == std::vector<std::uint64_t>{0, 3});
    REQUIRE(operators.size() == 2);
    CHECK(timeline.text(operators.shapes[0]) == "[[4]]");
    CHECK(timeline.text(operators.types[0]) == "[\"float\"]");
    CHECK(timeline.text(operators.values[0]) == "[\"\"]");
    CHECK(operators.shapes[1] == StringId::kEmpty);
    CHECK(timeline.health.operators_without_inputs == 1);
    CHECK(timeline.health.sampled_out_operators == 1);
    CHECK_FALSE(timeline.health.complete());
  }
}

TEST_CASE("an operator that finds no room is dropped with what it tells", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.overflow = OverflowPolicy::kDrop;
  Recording session(options);
  constexpr std::int64_t kOperators = 400'000;  // many times the memory
  for (std::int64_t i = 0; i < kOperators; ++i) run_operator("aten::mul", i);
  REQUIRE(session->stop().ok());
  const Timeline timeline = load_with_inputs(folder.file("a.rfcap"));
  CHECK(timeline.ranges.size() + timeline.health.dropped_ranges == kOperators);
  REQUIRE(timeline.operators.size() == timeline.ranges.size());
  std::int64_t before = -1;
  for (std::size_t row = 0; row < timeline.operators.size(); ++row) {
    if (timeline.operators.range[row] != row || timeline.operators.sequence[row] <= before) FAIL("row " << row);
    before = timeline.operators.sequence[row];
  }
}
