// SPDX-License-Identifier: MIT
#include "analysis/nsight/device.hpp"

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

std::string described(const std::vector<SumRow>& rows, const Labels& labels) {
  std::string out;
  for (const SumRow& row : rows)
    out += std::string(labels.text(row.name)) + "=" + std::to_string(row.spread.total_saturated()) + "/" +
           std::to_string(row.spread.count) + " ";
  return out;
}

}  // namespace

TEST_CASE("sums take the parts that are asked for", "[analysis]") {
  const Timeline timeline = some_work();
  Labels labels(timeline);
  CHECK(described(cuda_sum(timeline, {.kernels = true}, SumOf::kDuration, {}, labels), labels) == "k=31/3 ");
  CHECK(described(cuda_sum(timeline, {.memory = true}, SumOf::kDuration, {}, labels), labels) ==
        "[CUDA memcpy Host-to-Device]=2/1 [CUDA memset]=1/1 ");
  CHECK(described(cuda_sum(timeline, {.memory = true}, SumOf::kBytes, {}, labels), labels) ==
        "[CUDA memcpy Host-to-Device]=500/1 [CUDA memset]=7/1 ");
  CHECK(described(cuda_sum(timeline, {.calls = true}, SumOf::kDuration, {}, labels), labels) ==
        "cudaMemcpy=5/1 cudaLaunchKernel=4/2 ");
}

TEST_CASE("a kernel may carry its innermost range, without the domain", "[analysis]") {
  const Timeline timeline = some_work();
  Labels labels(timeline);
  const KernelNaming naming{KernelName::kFull, true};
  CHECK(described(cuda_sum(timeline, {.kernels = true}, SumOf::kDuration, naming, labels), labels) ==
        "outer/k=20/1 inner/k=10/1 k=1/1 ");
}

TEST_CASE("internal calls are in no sum", "[analysis]") {
  const Timeline timeline =
      TimelineBuilder().call("x", 0, 5, CallDomain::kInternal).call("cuCtxSync", 0, 3, CallDomain::kDriver).build();
  Labels labels(timeline);
  CHECK(described(cuda_sum(timeline, {.calls = true}, SumOf::kDuration, {}, labels), labels) == "cuCtxSync=3/1 ");
}

TEST_CASE("activities are ordered by begin, kernels before copies before memsets", "[analysis]") {
  const Timeline timeline =
      TimelineBuilder().launch(0).memset(5, 6, 1).memcpy(5, 6, 1).kernel(5, 6).kernel(1, 2).build();
  CHECK(activities_by_begin(timeline) ==
        std::vector{ActivityIndex{3}, ActivityIndex{2}, ActivityIndex{1}, ActivityIndex{0}});
}
