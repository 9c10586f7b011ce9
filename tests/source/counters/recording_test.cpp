// SPDX-License-Identifier: MIT
//
// Whole recordings with counters: from the options of a session to the tables of its capture.
#include "support/recording.hpp"

#include "session/dependencies.hpp"
#include "session/option_table.hpp"
#include "source/counters/counter_fixture.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/report.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::source::testing;
using namespace std::chrono_literals;

namespace {

SessionOptions session_options(const std::string& config) {
  SessionOptions options;
  options.nvtx = false;
  options.memory_bytes = std::uint64_t{8} << 20;
  options.stop_timeout = 60s;
  options.flush_period = 10min;  // only when the test says so
  options.pm_sampling_interval = 10min;
  REQUIRE(options.apply(config).ok());
  return options;
}

std::vector<std::string> metrics_of(const Timeline& timeline) {
  const RangeMetricTable& table = timeline.range_metrics;
  std::vector<std::string> lines;
  for (std::size_t row = 0; row < table.size(); ++row) {
    lines.push_back(std::string(timeline.text(timeline.ranges.name[table.range[row]])) + " " +
                    std::string(timeline.text(table.metric[row])) + " " +
                    std::to_string(static_cast<long long>(table.value[row])));
  }
  return lines;
}

bool has_note(const Timeline& timeline, const std::string& part) {
  return std::any_of(timeline.notes.begin(), timeline.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("counters of a session are in its capture, on their ranges", "[counters]") {
  const ProfiledProcess process;
  fakecupti_set_metric("dram__bytes_read.sum", 3);
  const SessionOptions options = session_options("counters=gpu_time_ns+dram_read_bytes,counter_ranges=layer*");
  Dependencies parts = make_dependencies(options);
  REQUIRE(parts.sources.size() == 1);
  CHECK(parts.sources[0]->name() == "counters");
  Recording recording(options, std::move(parts));
  CHECK_FALSE(recording->device().full);
  CHECK(recording->device().reason.find("switched off: counters=") == 0);
  for (int i = 0; i < 2; ++i) {
    const ProfileRange step{"step"};
    const ProfileRange layer{"layer.0"};
    const ProfileRange inner{"layer.inner"};
    fakecupti_advance(100u * static_cast<unsigned>(i + 1));
  }
  const Timeline timeline = recording.stop();
  CHECK(timeline.ranges.size() == 6);
  CHECK(timeline.activities.size() == 0);
  CHECK(metrics_of(timeline) == std::vector<std::string>{"layer.0 gpu_time_ns 100", "layer.0 dram_read_bytes 300",
                                                         "layer.0 gpu_time_ns 200", "layer.0 dram_read_bytes 600"});
  CHECK(timeline.health.complete());
  CHECK(has_note(timeline, "device activity was not recorded"));
  ReportOptions report;
  report.view = "counters";
  report.format = ReportFormat::kCsv;
  std::string text;
  REQUIRE(write_report(timeline, report, [&](std::string_view piece) { return text.append(piece), true; }).ok());
  INFO(text);
  CHECK(text.find("\nstep/layer.0,range profiler,2,300,900,3.0,,") != std::string::npos);
}

TEST_CASE("what was counted is held against peaks of the device that ran it", "[counters]") {
  const ProfiledProcess process;
  const SessionOptions options =
      session_options("counters=gpu_time_ns+dram_read_bytes+flop_tensor_bf16,counter_ranges=layer");
  Recording recording(options, make_dependencies(options));
  const ProfileRange step{"step"};
  {
    const ProfileRange layer{"layer"};
    fakecupti_advance(1'000'000);
  }
  const Timeline timeline = recording.stop();
  REQUIRE(timeline.devices.size() == 1);
  CHECK(timeline.devices[0].name == "Simulated GPU");
  CHECK(timeline.devices[0].multiprocessors == 132);
  CHECK(timeline.devices[0].max_threads_per_multiprocessor == 2048);
  CHECK(timeline.devices[0].memory_bytes == std::uint64_t{141} << 30);
  const MachinePeaks peaks{
      "c.json", {{"Simulated GPU", "flops", "bf16", 4e12}, {"Simulated GPU", "bandwidth", "copy", 4e9}}, {}};
  ReportOptions report;
  report.view = "roofline";
  report.format = ReportFormat::kCsv;
  report.peaks = &peaks;
  std::string text;
  REQUIRE(write_report(timeline, report, [&](std::string_view piece) { return text.append(piece), true; }).ok());
  INFO(text);
  // Each of the double's metrics is 1 a nanosecond: 1 GB/s of 4.
  CHECK(text.find(",bf16,memory,25.0,counters,100.0,step/layer,1,") != std::string::npos);
  CHECK(text.find("\nstep,,,") != std::string::npos);
}

TEST_CASE("a session whose counters match no range says so", "[counters]") {
  const ProfiledProcess process;
  const SessionOptions options = session_options("counters=memory,counter_ranges=layre*");
  Recording recording(options, make_dependencies(options));
  { const ProfileRange layer{"layer"}; }
  CHECK(has_note(recording.stop(),
                 "hardware counters of ranges were not counted: none of the ranges that counter_ranges"));
}

TEST_CASE("a session that ends before a device was found says that nothing was sampled", "[counters]") {
  const ProfiledProcess process;
  SessionOptions options = session_options("pm_sampling=l2_bytes,cuda=off");
  options.pm_sampling_interval = 1ms;
  options.flush_period = 1s;
  const bool found = GENERATE(false, true);
  Recording recording(options, make_dependencies(options));
  if (found) (void)recording->flush();
  const Timeline timeline = recording.stop();
  CHECK(has_note(timeline, "hardware counters were not sampled: no device was in use") == !found);
  CHECK(timeline.devices.size() == (found ? 1 : 0));
}

TEST_CASE("without rights a session says so in one line, and records ranges", "[counters][fault]") {
  const ProfiledProcess process;
  const SessionOptions options = session_options("counters=memory");
  fakecupti_fail("cuptiRangeProfilerEnable", 35);
  Recording recording(options, make_dependencies(options));
  { const ProfileRange step{"step"}; }
  const Timeline timeline = recording.stop();
  CHECK(timeline.ranges.size() == 1);
  CHECK(timeline.range_metrics.size() == 0);
  CHECK(timeline.health.uncounted_ranges == 1);
  CHECK(has_note(timeline,
                 "hardware counters of ranges were not counted: cuptiRangeProfilerEnable: the driver "
                 "reserves this to administrators: run with CAP_SYS_ADMIN, or load the driver with "
                 "NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST_CASE("samples stand beside device activity", "[counters]") {
  const ProfiledProcess process;
  SessionOptions options = session_options("pm_sampling=l2_bytes");
  options.pm_sampling_interval = 1ms;
  options.flush_period = 1s;
  Dependencies parts = make_dependencies(options);
  REQUIRE(parts.sources.size() == 2);
  CHECK(parts.sources[0]->name() == "cupti");
  CHECK(parts.sources[1]->name() == "samples");
  CHECK(check(options).ok());
  options.pm_sampling_interval = 9us;
  CHECK(check(options).error().message() ==
        "pm_sampling_interval: '9us' is not a time of at least 10us and at most 146 years, such as 1ms (units ns, us, "
        "ms, s, "
        "min)");
  options.cuda = false;
  CHECK(make_dependencies(options).sources.size() == 1);
}
