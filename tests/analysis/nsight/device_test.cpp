// SPDX-License-Identifier: MIT
#include "analysis/nsight/device.hpp"

#include "analysis/nsight/ranges.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

using namespace rangefinder;
using namespace rangefinder::analysis::nsight;
using rangefinder::testing::TimelineBuilder;

namespace {

Timeline some_work() {
  return TimelineBuilder()
      .range("outer", 0, 100)
      .range("inner", 10, 30)
      .in_domain("lib")
      .launch_call("cudaLaunchKernel_v7000", 12, 14)
      .kernel(40, 50, "k")
      .launch_call("cudaLaunchKernel_v7000", 29, 31)
      .kernel(50, 70, "k")
      .launch_call("cudaMemcpy_v3020", 40, 45)
      .memcpy(42, 44, 500)
      .memset(44, 45, 7)
      .without_launch(99)
      .kernel(90, 91, "k")
      .build();
}

std::string sums_of(const Timeline& timeline, const SumParts& parts, SumOf what = SumOf::kDuration,
                    const KernelNaming& naming = {}) {
  CudaSums sums(timeline, parts, what, naming);
  sums.add(timeline.calls.size());
  std::string out;
  for (const SumRow& row : sums.rows())
    out += std::string(sums.labels().text(row.name)) + "=" + std::to_string(row.spread.total_saturated()) + "/" +
           std::to_string(row.spread.count) + " ";
  return out;
}

}  // namespace

TEST_CASE("sums take the parts that are asked for", "[analysis]") {
  const Timeline timeline = some_work();
  CHECK(sums_of(timeline, {.kernels = true}) == "k=31/3 ");
  CHECK(sums_of(timeline, {.memory = true}) == "[CUDA memcpy Host-to-Device]=2/1 [CUDA memset]=1/1 ");
  CHECK(sums_of(timeline, {.memory = true}, SumOf::kBytes) == "[CUDA memcpy Host-to-Device]=500/1 [CUDA memset]=7/1 ");
  CHECK(sums_of(timeline, {.calls = true}) == "cudaMemcpy=5/1 cudaLaunchKernel=4/2 ");
}

TEST_CASE("sums go on with the next rows of a timeline, whatever its names have become", "[analysis]") {
  Timeline timeline = some_work();
  CudaSums sums(timeline, {.memory = true}, SumOf::kDuration, {});
  sums.add(timeline.calls.size());
  timeline.intern("[CUDA memset]");
  sums.add(timeline.calls.size());
  REQUIRE(sums.rows().size() == 2);
  CHECK(sums.rows()[1].spread.total == 2);

  RangeSums ranges(timeline, RangeChoice::kAll);
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) ranges.add(range);
  const StringId as_name = timeline.intern("lib:inner");
  timeline.ranges.cut_to(0);
  timeline.ranges.append({.name = as_name, .begin_ns = 0, .end_ns = 5});
  ranges.add(RangeIndex{0});
  REQUIRE(ranges.rows().size() == 2);
  CHECK(ranges.labels().text(ranges.rows()[1].name) == "lib:inner");
  CHECK(ranges.rows()[1].duration.total == 25);
}

TEST_CASE("a kernel may carry its innermost range, without the domain", "[analysis]") {
  const Timeline timeline = some_work();
  const KernelNaming naming{KernelName::kFull, true};
  CHECK(sums_of(timeline, {.kernels = true}, SumOf::kDuration, naming) == "outer/k=20/1 inner/k=10/1 k=1/1 ");
}

TEST_CASE("internal calls are in no sum", "[analysis]") {
  const Timeline timeline =
      TimelineBuilder().call("x", 0, 5, CallDomain::kInternal).call("cuCtxSync", 0, 3, CallDomain::kDriver).build();
  CHECK(sums_of(timeline, {.calls = true}) == "cuCtxSync=3/1 ");
}

TEST_CASE("activities are ordered by begin, kernels before copies before memsets", "[analysis]") {
  const Timeline timeline =
      TimelineBuilder().launch(0).memset(5, 6, 1).memcpy(5, 6, 1).kernel(5, 6).kernel(1, 2).build();
  CHECK(activities_by_begin(timeline) ==
        std::vector{ActivityIndex{3}, ActivityIndex{2}, ActivityIndex{1}, ActivityIndex{0}});
}
