// SPDX-License-Identifier: MIT
#include "analysis/launch_configurations.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using rangefinder::testing::change_last;
using rangefinder::testing::change_row;
using rangefinder::testing::TimelineBuilder;

namespace {

std::vector<LaunchConfiguration> rows_of(const Timeline& timeline) {
  LaunchConfigurations configurations;
  configurations.add(timeline);
  return configurations.rows(timeline);
}

}  // namespace

TEST_CASE("kernels of one name that are launched otherwise are other rows", "[analysis]") {
  TimelineBuilder builder;
  builder.launch(0).kernel(10, 20, "gemm").launch(5).kernel(20, 50, "gemm").launch(6).kernel(50, 60, "gemm");
  builder.on_device(1).launch(7).kernel(60, 61, "gemm").memcpy(70, 80, 1).without_launch(0).kernel(90, 91, "gemm");
  Timeline& timeline = builder.timeline();
  for (KernelDetail& detail : timeline.kernel_details) detail.grid[0] = 4;
  timeline.kernel_details[2].dynamic_shared_bytes = 1024;
  change_last(timeline.activities, [&](auto& changed) { changed.detail = kNone; });
  const auto rows = rows_of(builder.build());
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].count == 2);
  CHECK(rows[0].total_ns == 40);
  CHECK(rows[0].delay.count == 2);
  CHECK(rows[0].delay.max == 15);
  CHECK(rows[1].detail.dynamic_shared_bytes == 1024);
  CHECK(rows[2].device == 1);
}

TEST_CASE("queue time is from the call's return, of kernels that began later", "[analysis]") {
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchKernel", 0, 10).kernel(5, 20, "k");  // began before the call returned
  builder.launch_call("cudaLaunchKernel", 11, 15).kernel(45, 50, "k");
  builder.launch_call("cudaLaunchKernel", 16, 20).kernel(60, 70, "k");
  Timeline& timeline = builder.timeline();
  change_row(timeline.activities, 1, [](ActivityRow& kernel) { kernel.queued_ns = 12, kernel.submitted_ns = 25; });
  const auto rows = rows_of(builder.build());
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].queue.count == 2);
  CHECK(rows[0].queue.max == 40);
  CHECK(rows[0].queue.median(0) == 35);
  CHECK(rows[0].delay.count == 3);
  CHECK(rows[0].command_buffer.count == 1);
  CHECK(rows[0].command_buffer.max == 13);
  CHECK(rows[0].device_queue.count == 1);
  CHECK(rows[0].device_queue.max == 20);
}
