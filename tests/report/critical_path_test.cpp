// SPDX-License-Identifier: MIT
//
// The view critical_path.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// A step that launches a kernel and waits for it, and one without work for a device.
Timeline steps_with_a_wait() {
  TimelineBuilder builder;
  builder.range("forward", 0, 100).launch_call("cudaLaunchKernel", 10, 15).kernel(14, 80, "gemm");
  builder.call("cudaDeviceSynchronize", 20, 85).step(0, 0, 100);
  builder.range("aten::add", 100, 130).of_kind(RangeKind::kOperator).step(1, 100, 130);
  return builder.build();
}

std::string path_report(std::string_view of, std::string_view by, bool instances = false) {
  ReportOptions options;
  options.view = "critical_path";
  options.format = ReportFormat::kCsv;
  options.of = of;
  options.by = by;
  options.instances = instances;
  return rendered(steps_with_a_wait(), options);
}

std::string refused(std::string_view view, std::string_view of, std::string_view by) {
  ReportOptions options;
  options.view = view;
  options.of = of;
  options.by = by;
  const Status status = write_report(steps_with_a_wait(), options, [](std::string_view) { return true; });
  REQUIRE_FALSE(status.ok());
  return std::string(status.error().message());
}

}  // namespace

TEST_CASE("the view critical_path divides a step by reason, with what each would gain", "[report]") {
  CHECK(path_report("step:0", "") ==
        "Reason,Time (ns),Share (%),Segments,Gain if free (ns),Gain if twice as fast (ns)\n"
        "computation,66,66.0,1,60,33\n"
        "host,25,25.0,2,25,12\n"
        "synchronisation,5,5.0,1,5,2\n"
        "launch latency,4,4.0,1,4,2\n");
  CHECK(path_report("step:0", "reason") == path_report("step:0", ""));
}

TEST_CASE("the view critical_path is of all steps, by range, operator or step", "[report]") {
  const std::string by_range = path_report("", "range");
  CHECK(has(by_range, "\nforward,100,76.9,5,100,"));
  CHECK(has(by_range, "\n(none),30,23.1,1,30,15\n"));
  CHECK(has(path_report("steps", "operator"), "\naten::add,30,23.1,1,30,15\n"));
  const std::string by_step = path_report("all", "step");
  CHECK(has(by_step,
            "Step,Begin (ns),Length (ns),Host (ns),Input (ns),CUDA call (ns),Launch latency (ns),Computation (ns),"
            "Communication (ns),Copy (ns),Stream delay (ns),Synchronisation (ns),Thread wait (ns),"
            "Full launch queue (ns),Unknown (ns)\n"));
  CHECK(has(by_step, "\n,0,130,55,0,0,4,66,0,0,0,5,0,0,0\n"));
  CHECK(has(path_report("steps", "step"), "\n1,100,30,30,0,0,0,0,0,0,0,0,0,0,0\n"));
}

TEST_CASE("the view critical_path lists segments in order of time", "[report]") {
  const std::string csv = path_report("range:forward", "", true);
  CHECK(has(csv, "Begin (ns),Length (ns),Reason,Operation,Operator,Range,Thread\n0,10,host,,,forward,1\n"));
  CHECK(has(csv, "\n14,66,computation,gemm,,forward,\n80,5,synchronisation,cudaDeviceSynchronize,,forward,1\n"));
  CHECK(has(path_report("time:20..60", "", true), "\n20,40,computation,gemm,,forward,\n"));
}

TEST_CASE("the view critical_path says what it does not have", "[report]") {
  CHECK(has(refused("critical_path", "step:7", ""), "no step 7"));
  CHECK(has(refused("critical_path", "range:backward", ""), "no range backward"));
  CHECK(has(refused("critical_path", "time:9..3", ""), "time:BEGIN..END"));
  CHECK(has(refused("critical_path", "epoch:1", ""), "step:NUMBER"));
  CHECK(has(refused("critical_path", "", "device"), "step, range, reason and operator"));
  CHECK(has(refused("breakdown", "step:1", ""), "--view critical_path"));
}
