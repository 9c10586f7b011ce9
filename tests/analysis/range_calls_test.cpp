// SPDX-License-Identifier: MIT
#include "analysis/range_calls.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <string>

using namespace rangefinder;
using namespace rangefinder::analysis;
using rangefinder::testing::TimelineBuilder;

namespace {

std::vector<RangeCalls> rows_of(const Timeline& timeline, bool by_function) {
  const ProjectionOptions options;
  return calls_of_ranges(timeline, project(timeline, options), options, by_function);
}

const RangeCalls& find(const Timeline& timeline, const std::vector<RangeCalls>& rows, std::string_view range,
                       std::string_view call = "") {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const RangeCalls& row) {
    return timeline.text(row.range) == range && timeline.text(row.call) == call;
  });
  REQUIRE(at != rows.end());
  return *at;
}

}  // namespace

TEST_CASE("time in calls goes to the innermost range, and to all around it", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("forward", 10, 50);
  builder.call("cudaLaunchKernel", 20, 25).call("cudaMalloc", 30, 40).call("cudaLaunchKernel", 60, 62);
  builder.call("cudaFree", 200, 207);
  const Timeline timeline = builder.build();
  const auto rows = rows_of(timeline, true);
  const RangeCalls& step = find(timeline, rows, "step", "cudaLaunchKernel");
  CHECK(step.count == 2);
  CHECK(step.inclusive_ns == 7);
  CHECK(step.exclusive_ns == 2);
  CHECK(step.longest_ns == 5);
  const RangeCalls& forward = find(timeline, rows, "forward", "cudaLaunchKernel");
  CHECK(forward.count == 1);
  CHECK(forward.inclusive_ns == 5);
  CHECK(forward.exclusive_ns == 5);
  CHECK(find(timeline, rows, "step", "cudaMalloc").exclusive_ns == 0);
  CHECK(find(timeline, rows, "", "cudaFree").outside);
  CHECK(find(timeline, rows, "", "cudaFree").inclusive_ns == 7);
  const auto totals = rows_of(timeline, false);
  CHECK(totals.size() == 3);
  CHECK(find(timeline, totals, "step").inclusive_ns == 17);
  CHECK(find(timeline, totals, "forward").inclusive_ns == 15);
  CHECK(timeline.text(totals.front().range) == "step");
}

TEST_CASE("with too many rows, functions that only ranges inside call are one row", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).call("cudaMalloc", 1, 2).range("forward", 10, 50).range("layer", 12, 48);
  builder.call("cudaLaunchKernel", 20, 25).call("cudaMalloc", 30, 40).call("cudaFree", 41, 44);
  builder.call("cudaLaunchKernel", 200, 207);
  const Timeline timeline = builder.build();
  const ProjectionOptions options;
  const auto limited = [&](std::size_t most, bool by_function) {
    return calls_of_ranges(timeline, project(timeline, options), options, by_function, most);
  };
  CHECK(limited(9, true).size() == 10);  // 3 ranges times 3 functions, and one outside
  const auto rows = limited(8, true);
  CHECK(rows.size() == 7);
  CHECK(find(timeline, rows, "layer", "cudaLaunchKernel").inclusive_ns == 5);
  CHECK(find(timeline, rows, "layer", "cudaFree").inclusive_ns == 3);
  CHECK(find(timeline, rows, "step", "cudaMalloc").inclusive_ns == 11);
  const RangeCalls& step = find(timeline, rows, "step");
  CHECK(step.further_inside);
  CHECK(step.inclusive_ns == 8);
  CHECK(step.exclusive_ns == 0);
  CHECK(step.count == 2);
  CHECK(step.longest_ns == 5);
  CHECK(find(timeline, rows, "forward").further_inside);
  CHECK(find(timeline, rows, "forward").inclusive_ns == 18);
  CHECK(find(timeline, rows, "", "cudaLaunchKernel").outside);
  for (const RangeCalls& row : limited(1, false)) CHECK_FALSE(row.further_inside);
}

TEST_CASE("a call inside of a call is that call", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).call("cudaLaunchKernel", 10, 30).call("cuLaunchKernel", 12, 28, CallDomain::kDriver);
  builder.call("cudaFree", 30, 30);  // where that one ends, not in it
  const Timeline timeline = builder.build();
  const auto rows = rows_of(timeline, true);
  CHECK(rows.size() == 2);
  CHECK(find(timeline, rows, "step", "cudaLaunchKernel").inclusive_ns == 20);
  CHECK(find(timeline, rows, "step", "cudaFree").count == 1);
}

TEST_CASE("a range inside one of its own name does not count its calls twice", "[analysis]") {
  TimelineBuilder builder;
  builder.range("block", 0, 100).range("between", 5, 95).range("block", 10, 50).call("cudaMalloc", 20, 30);
  builder.range("block", 60, 70).call("cudaMalloc", 61, 64);
  const Timeline timeline = builder.build();
  const auto rows = rows_of(timeline, false);
  CHECK(find(timeline, rows, "block").inclusive_ns == 13);
  CHECK(find(timeline, rows, "block").exclusive_ns == 13);
  CHECK(find(timeline, rows, "block").count == 2);
  CHECK(find(timeline, rows, "between").inclusive_ns == 13);
  CHECK(find(timeline, rows, "between").exclusive_ns == 0);
}

TEST_CASE("a launch counts in the range that the recording noted, whatever the clocks say", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 50).range("b", 50, 100).launch_call("cudaLaunchKernel", 49, 55).noted("b");
  const Timeline timeline = builder.build();
  const auto rows = rows_of(timeline, true);
  REQUIRE(rows.size() == 1);
  CHECK(timeline.text(rows[0].range) == "b");
}

TEST_CASE("ranges that nest without end take no time without end", "[analysis]") {
  TimelineBuilder builder;
  constexpr std::int64_t kDepth = 50'000;
  for (std::int64_t i = 0; i < kDepth; ++i)
    builder.range(i % 2 == 0 ? "even" : "odd", i * 2, 4 * kDepth).call("cudaMalloc", i * 2, i * 2 + 1);
  const Timeline timeline = builder.build();
  const auto rows = rows_of(timeline, true);
  CHECK(find(timeline, rows, "even", "cudaMalloc").inclusive_ns == kDepth);
  CHECK(find(timeline, rows, "odd", "cudaMalloc").inclusive_ns == kDepth - 1);
}
