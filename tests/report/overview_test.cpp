// SPDX-License-Identifier: MIT
//
// What a report begins with.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <algorithm>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// 100 ms of which the device works 30, and the host waits 20.
Timeline training() {
  TimelineBuilder builder;
  builder.timeline().processes[0].name = "train";
  builder.timeline().processes[0].host = "node7";
  builder.timeline().processes[0].rank = 1;
  builder.timeline().processes[0].world_size = 2;
  builder.timeline().devices[0].name = "NVIDIA H100";
  builder.timeline().threads[0].name = "main";
  builder.timeline().sources = {"a run.rfcap"};
  builder.timeline().realtime_offset_ns = 1'700'000'000'000'000'000;
  builder.range("step", 0, 90 * kMs).range("forward", kMs, 20 * kMs);
  builder.launch_call("cudaLaunchKernel", 2 * kMs, 3 * kMs).kernel(10 * kMs, 30 * kMs);
  builder.on_stream(8).launch(4 * kMs).kernel(20 * kMs, 35 * kMs).on_stream(7);
  builder.range("backward", 20 * kMs, 60 * kMs).launch(25 * kMs).kernel(40 * kMs, 45 * kMs);
  builder.call("cudaDeviceSynchronize", 30 * kMs, 50 * kMs);
  builder.range("tail", 90 * kMs, 100 * kMs);
  builder.window(0, 100 * kMs);
  return builder.build();
}

std::string opening(const Timeline& timeline, ReportOptions options = {}) {
  const std::string text = rendered(timeline, options);
  return text.substr(0, text.find("\n\n"));
}

}  // namespace

TEST_CASE("the default view begins with what the capture is and what to ask next", "[report]") {
  CHECK(opening(training()) ==
        "capture  train on node7, rank 1 of 2, 2023-11-14 22:13:20 UTC, 100.0 ms recorded, 1 thread\n"
        "GPU      busy 30.0 % of the time, idle 70.0 % (NVIDIA H100)\n"
        "host     ranges cover 100.0 % of the time of thread main, which waits for devices 20.0 % of the time\n"
        "largest  forward 25.00 ms (87.5 %), backward 5.000 ms (12.5 %) of GPU self time\n"
        "lost     nothing\n"
        "next     rangefinder report 'a run.rfcap' --view sync (where the host waits, and for which work)");
}

TEST_CASE("a process without threads, as traces have for a device, is not counted", "[report]") {
  Timeline timeline = training();
  timeline.processes.push_back({0, "train", "node7"});
  CHECK(has(opening(timeline), "capture  train on node7, rank 1 of 2, "));
  ReportOptions options;
  options.format = ReportFormat::kJson;
  CHECK(has(rendered(timeline, options), R"("host": "node7", "rank": 1}], )"));
}

TEST_CASE("the overview is wrapped at the width of the terminal", "[report]") {
  ReportOptions options;
  options.width = 40;
  const std::string text = opening(training(), options);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    CHECK(end - begin <= 40);
    begin = end + 1;
  }
  CHECK(has(text, "\n         "));
}

TEST_CASE("JSON has the overview as an object", "[report]") {
  ReportOptions options;
  options.format = ReportFormat::kJson;
  const std::string json = rendered(training(), options);
  CHECK(has(json, R"("overview": {"processes": [{"name": "train", "pid": 1, "host": "node7", "rank": 1}], )"
                  R"("start_realtime_ns": 1700000000000000000, "recorded_ns": 100000000, "threads": 1, "steps": 0, )"
                  R"("devices": [{"id": 0, "name": "NVIDIA H100", "busy_ns": 30000000}], )"
                  R"("host": {"thread": 1, "in_ranges_ns": 100000000, "blocked_ns": 20000000}, )"
                  R"("largest": [{"range": "forward", "gpu_self_ns": 25000000, "share_percent": 87.5}, )"
                  R"({"range": "backward", "gpu_self_ns": 5000000, "share_percent": 12.5}], "lost": 0, )"
                  R"("next": "rangefinder report 'a run.rfcap' --view sync"})"));
}

TEST_CASE("there is no overview in CSV, in other views, and where it is not wanted", "[report]") {
  const Timeline timeline = training();
  for (const ReportOptions& options :
       {ReportOptions{.format = ReportFormat::kCsv}, ReportOptions{.view = "kernels"}, ReportOptions{.instances = true},
        ReportOptions{.columns = "help"}, ReportOptions{.filter = "step"}, ReportOptions{.payload = ">1"},
        ReportOptions{.overview = false}})
    CHECK_FALSE(has(rendered(timeline, options), "next "));
}

TEST_CASE("a capture without device work names the largest of the host", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("load", 10, 90);
  builder.timeline().notes.push_back(
      "device activity was not recorded: host_only: no NVIDIA driver in this process (libcuda.so.1: cannot open)");
  const Timeline timeline = builder.build();
  const std::string text = rendered(timeline, {});
  CHECK(has(text, "largest  load 80 ns (80.0 %), step 20 ns (20.0 %) of host self time\n"));
  CHECK(has(text, "next     rangefinder report FILE --view tree"));
  CHECK_FALSE(has(text, "GPU"));
  CHECK(text.ends_with("\n\ndevice time  none: no NVIDIA driver in this process\n"));
}

TEST_CASE("of several threads without a device, the overview says how many work, and asks what they wait for",
          "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("load", 10, 90).on_thread(2).range("read", 0, 50).range("decode", 10, 20);
  const Timeline timeline = builder.build();
  const std::string text = rendered(timeline, {});
  CHECK(has(text, "\nthreads  1.50 of 2 are in ranges at a time, on average\n"));
  CHECK(has(text, "next     rangefinder report FILE --view threads (what each thread ran, and what it waited for)"));
  ReportOptions options;
  options.format = ReportFormat::kJson;
  CHECK(has(rendered(timeline, options), R"("in_ranges_ns": 100, "threads_in_ranges": 2, "all_in_ranges_ns": 150, )"));
}

TEST_CASE("work outside any range leads to the operators, or to what it is", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 10).launch(50).kernel(60, 100);
  CHECK(has(rendered(builder.build(), {}), "--view unattributed (100.0 % of device time is outside any range"));
  builder.range("step", 0, 10).range("aten::mm", 45, 55).of_kind(RangeKind::kOperator).launch(50).kernel(60, 100);
  CHECK(has(rendered(builder.build(), {}), "--ranges both (100.0 % of device time is outside any range"));
}

TEST_CASE("a long name does not fill the overview", "[report]") {
  const Timeline timeline = TimelineBuilder().range(std::string(1'000, 'a') + "z", 0, 100).build();
  const std::string text = opening(timeline);
  CHECK(text.size() < 400);
  CHECK(has(text, "z 100 ns (100.0 %)"));
}

TEST_CASE("losses are said at once", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 10);
  builder.timeline().health.dropped_ranges = 1'234;
  CHECK(has(rendered(builder.build(), {}), "lost     1,234: see the lines at the end\n"));
}
