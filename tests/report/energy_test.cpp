// SPDX-License-Identifier: MIT
//
// The view energy: what devices took while work of ranges ran.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

Timeline training() {
  TimelineBuilder builder;
  builder.range("step", 0, 90).range("forward", 10, 30);
  builder.launch(20).kernel(0, 20 * kMs);
  builder.range("backward", 40, 80);
  builder.launch(50).kernel(20 * kMs, 80 * kMs);
  builder.launch(95).kernel(80 * kMs, 90 * kMs);
  for (std::int64_t ms = 0; ms <= 100; ms += 10)
    builder.power(ms * kMs, 200'000).sensed(ms < 20 ? 1900 : 1500, ms < 20 ? 0 : 4);
  change_row(builder.timeline().sensor_samples, 0, [](SensorSampleRow& sample) {
    sample.present |= kHasEnergy;
    sample.energy_mj = 1'000;
  });
  builder.energy_counter(21'500);
  return builder.build();
}

std::string energy_report(ReportFormat format, bool fold = false, std::size_t depth = 0) {
  ReportOptions options;
  options.view = "energy";
  options.format = format;
  options.fold = fold;
  options.depth = depth;
  return rendered(training(), options);
}

}  // namespace

TEST_CASE("energy by path adds up to what the device took", "[report]") {
  const std::string csv = energy_report(ReportFormat::kCsv);
  INFO(csv);
  CHECK(has(csv,
            "Range,Count,GPU busy (ns),Energy (J),Energy share (%),Self energy (J),Energy while running (J),Energy avg "
            "(J),Power (W),SM clock MHz,Memory clock MHz,Throttled (%),Readings,Known (%),Path,Depth,"
            "Id,Parent id\n"));
  // 200 W: 16 J in 80 ms, of 20 J in all.
  CHECK(has(csv, "\nstep,1,80000000,16.000,80.0,0.000,16.000,16.000,200.0,"));
  CHECK(has(csv, "\nforward,1,20000000,4.000,20.0,4.000,4.000,4.000,200.0,1800,"));
  CHECK(has(csv,
            "\nbackward,1,60000000,12.000,60.0,12.000,12.000,12.000,200.0,1500,,100.0,6,100.0,step/backward,1,3,1\n"));
  CHECK(has(csv, "\n[outside ranges],,,2.000,10.0,"));
  CHECK(has(csv, "\n[idle],,,2.000,10.0,"));
}

TEST_CASE("what a tree that is cut leaves out counts where it was cut", "[report]") {
  const std::string csv = energy_report(ReportFormat::kCsv, false, 1);
  INFO(csv);
  CHECK(has(csv, "\nstep,1,80000000,16.000,80.0,16.000,16.000,"));
  CHECK_FALSE(has(csv, "forward"));
}

TEST_CASE("a report of energy says how good its readings are", "[report]") {
  const std::string text = energy_report(ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "device 0: 20.000 J over 11 power readings, one per 10.0 ms"));
  CHECK(has(text, "device 0: the board's energy counter says 20.500 J, the readings add up to 20.000 J"));
  CHECK_FALSE(has(text, "mean over about a second"));
}

TEST_CASE("a report of a job's energy says whose device it is, and what it cannot tell", "[report]") {
  Timeline timeline = training();
  timeline.processes[0].rank = 3;
  timeline.processes.push_back({});
  timeline.devices[0].mig = true;
  ReportOptions options;
  options.view = "energy";
  const std::string text = rendered(timeline, options);
  INFO(text);
  CHECK(has(text, "device 0 of rank 3: 20.000 J"));
  CHECK(has(text, "device 0 of rank 3: a MIG instance"));
  CHECK(has(text, "some captures do not identify their boards"));
  timeline.devices[0].board = "GPU-17";
  CHECK_FALSE(has(rendered(timeline, options), "some captures do not identify"));
}

TEST_CASE("a report of energy without readings says how to get them", "[report]") {
  ReportOptions options;
  options.view = "energy";
  const std::string text = rendered(TimelineBuilder().range("step", 0, 9).launch(1).kernel(2, 5).build(), options);
  INFO(text);
  CHECK(has(text, "readings of device sensors (record with nvml=on)"));
  CHECK_FALSE(has(text, "[idle]"));
}
