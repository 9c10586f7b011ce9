// SPDX-License-Identifier: MIT
//
// The views launch_queue and sequences.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

constexpr const char* kAdd = "void at::native::vectorized_elementwise_kernel<4, AddFunctor<float>>(int)";

/// Two steps of three short kernels each, which the host launches too late.
TimelineBuilder launch_bound() {
  TimelineBuilder builder;
  for (std::int64_t t = 0; t < 200'000; t += 100'000) {
    builder.range("step", t, t + 90'000);
    for (std::int64_t i = 0; i < 3; ++i) {
      const std::int64_t launch = t + i * 20'000;
      builder.range(i == 0 ? "aten::mul" : "aten::add", launch, launch + 15'000).of_kind(RangeKind::kOperator);
      builder.launch_call("cudaLaunchKernel", launch + 1'000, launch + 6'000);
      builder.kernel(launch + 8'000, launch + 10'000, kAdd);
    }
  }
  return builder;
}

std::string sequences_report(const Timeline& timeline, std::string view, ReportFormat format, std::string by = {}) {
  ReportOptions options;
  options.view = std::move(view);
  options.format = format;
  options.by = std::move(by);
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("sequences of short kernels as CSV, with what a graph or fusion could save", "[report]") {
  CHECK(sequences_report(launch_bound().build(), "sequences", ReportFormat::kCsv) ==
        "Range,Operators,Kernels,Count,GPU sum (ns),Share (%),Kernel avg (ns),Graph gain (ns),Fusion gain (ns),Fusible,"
        "Launch calls (ns),First kernel\n"
        "step,\"aten::mul, aten::add x2\",3,2,12000,100.0,2000,72000,80000,6,30000,\"" +
            std::string(kAdd) + "\"\n");
}

TEST_CASE("short kernels by operator and name as CSV", "[report]") {
  CHECK(sequences_report(launch_bound().build(), "sequences:summary", ReportFormat::kCsv) ==
        "Operator,Kernel,Family,Count,GPU sum (ns),Share (%),Avg (ns)\n"
        "aten::add,\"" +
            std::string(kAdd) + "\",elementwise,4,8000,66.7,2000\naten::mul,\"" + kAdd +
            "\",elementwise,2,4000,33.3,2000\n");
}

TEST_CASE("a note says how many kernels are short, and what that is", "[report]") {
  const std::string text = sequences_report(launch_bound().build(), "sequences", ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "6 of 6 kernels are short"));
  CHECK(has(text, "10,000 ns"));
}

TEST_CASE("the operators of a long sequence are named up to a number", "[report]") {
  TimelineBuilder builder;
  for (std::int64_t i = 0; i < 6; ++i) {
    builder.range("op" + std::to_string(i), i * 10, i * 10 + 9).of_kind(RangeKind::kOperator);
    builder.launch(i * 10 + 1).kernel(100 + i * 10, 105 + i * 10, kAdd);
  }
  const std::string csv = sequences_report(builder.build(), "sequences", ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv, "\"op0, op1, op2, op3, and 2 more\""));
}

TEST_CASE("queues of streams as CSV", "[report]") {
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchKernel", 0, 3).kernel(5, 105);
  builder.launch_call("cudaLaunchKernel", 10, 13).kernel(105, 205);
  builder.launch_call("cudaLaunchKernel", 20, 23).kernel(205, 207);
  CHECK(sequences_report(builder.build(), "launch_queue", ReportFormat::kCsv) ==
        "Device,Stream,Launches,Queue mean,Queue p50,Queue p95,Queue max,Empty (%),Starved (ns),Starved share "
        "(%),Host-bound (%),Latency idle p50 (ns),Latency idle p95 (ns),Latency queued p50 (ns),Latency queued p95 "
        "(ns),Shorter than launch,Shorter share (%),Kernel avg (ns),Launch call avg (ns),Total (ns),Idle (ns)\n"
        "0,7,3,1.38,1,2,2,3.4,0,0.0,33.3,5,5,95,185,1,33.3,67,3,207,0\n");
}

TEST_CASE("launches by range as CSV", "[report]") {
  CHECK(sequences_report(launch_bound().build(), "launch_queue", ReportFormat::kCsv, "range") ==
        "Range,Launches,Queue at launch,Host-bound (%),Latency idle p50 (ns),Latency idle p95 (ns),Latency queued p50 "
        "(ns),Latency queued p95 (ns),Shorter than launch,Shorter share (%),Kernel avg (ns),Launch call avg (ns)\n"
        "step,6,0.00,100.0,7000,7000,,,6,100.0,2000,5000\n");
}

TEST_CASE("a note says that work without a launch waits in no queue", "[report]") {
  TimelineBuilder builder = launch_bound();
  const std::string text = sequences_report(builder.without_launch(99).kernel(300'000, 300'010).clock_error(50).build(),
                                            "launch_queue", ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "the launch of 1 operations is not in the input"));
  CHECK(has(text, "may differ by 50 ns"));
}
