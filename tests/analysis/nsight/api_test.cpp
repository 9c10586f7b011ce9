// SPDX-License-Identifier: MIT
#include "analysis/nsight/api.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

using namespace rangefinder;
using namespace rangefinder::analysis::nsight;
using rangefinder::testing::TimelineBuilder;

TEST_CASE("a kernel's way is call, queue, device", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .launch_call("cudaLaunchKernel_v7000", 10, 20)
                                .kernel(25, 40)
                                .launch_call("cudaLaunchKernel_v7000", 50, 80)  // runs before the call returns
                                .kernel(60, 70)
                                .launch(90)
                                .kernel(95, 99)  // no call recorded
                                .build();
  const std::vector<KernelExecution> rows = kernel_executions(timeline);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].queue_ns == 5);
  CHECK(rows[0].total_ns == 30);
  CHECK(rows[1].queue_ns == -20);
  CHECK(rows[1].total_ns == 30);
}

TEST_CASE("the sum counts waiting only of kernels that waited", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .launch_call("l", 10, 20)
                                .kernel(25, 40, "k")
                                .launch_call("l", 50, 80)
                                .kernel(60, 70, "k")
                                .on_thread(2)
                                .launch_call("l", 0, 1)
                                .kernel(2, 101, "k")
                                .build();
  KernelExecutionSums sums(timeline, {});
  sums.add();
  const std::vector<KernelExecutionSum> rows = sums.rows();
  REQUIRE(rows.size() == 2);
  CHECK(timeline.threads[rows[0].thread].tid == 2);  // longest mean first
  CHECK(rows[1].total.count == 2);
  CHECK(rows[1].queue.count == 1);
  CHECK(rows[1].queue.mean(1) == 50);
  CHECK(rows[1].api.total_saturated() == 40);
  CHECK(rows[1].duration.total_saturated() == 25);
}

TEST_CASE("equal means are ordered by thread, device and name", "[analysis]") {
  TimelineBuilder builder;
  builder.on_thread(3).launch_call("l", 0, 5).kernel(6, 10, "b");
  builder.on_thread(3).launch_call("l", 20, 25).kernel(26, 30, "a");
  builder.on_thread(2).launch_call("l", 0, 5).kernel(6, 10, "b");
  const Timeline timeline = builder.build();
  KernelExecutionSums sums(timeline, {});
  sums.add();
  std::string order;
  for (const KernelExecutionSum& row : sums.rows())
    order += std::to_string(timeline.threads[row.thread].tid) + std::string(sums.labels().text(row.kernel)) + " ";
  CHECK(order == "2b 3a 3b ");
}

TEST_CASE("calls come by begin, internal ones left out", "[analysis]") {
  const Timeline timeline =
      TimelineBuilder().call("b", 5, 6).call("a", 1, 2).call("x", 0, 1, CallDomain::kInternal).build();
  CHECK(calls_by_begin(timeline) == std::vector{CallIndex{1}, CallIndex{0}});
}
