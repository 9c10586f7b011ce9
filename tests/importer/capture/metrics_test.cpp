// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/loaded_capture.hpp"

#include <rangefinder/timeline.hpp>

#include <limits>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::string described(const Timeline& timeline, std::size_t row) {
  const RangeMetricTable& table = timeline.range_metrics;
  const RangeIndex range = table.range[row];
  return std::string(timeline.text(timeline.ranges.name[range])) + "@" +
         std::to_string(timeline.ranges.begin_ns[range] - at(0)) + " on " +
         std::to_string(timeline.threads[timeline.ranges.thread[range]].tid) + ": " +
         std::string(timeline.text(table.metric[row])) + " " + std::to_string(table.value[row]);
}

}  // namespace

TEST_CASE("counters find the range that they were counted in", "[importer]") {
  CaptureBuilder capture;
  capture.on_thread(1).range("step", 0, 900).range("layer", 100, 200).range("layer", 300, 400);
  capture.range("recursive", 500, 600).range("recursive", 510, 560);
  capture.on_thread(2).range("layer", 290, 410);
  // In another order than that of the ranges.
  capture.on_thread(2).range_metric("layer", 295, 405, "l2_bytes", 4);
  capture.on_thread(1).on_device(3).range_metric("layer", 301, 399, "l2_bytes", 2.5);
  capture.range_metric("layer", 101, 199, "l2_bytes", 1).range_metric("layer", 101, 199, "sm_active_ratio", 0.25);
  capture.range_metric("recursive", 511, 559, "l2_bytes", 3);
  const Timeline timeline = load(capture);
  REQUIRE(timeline.range_metrics.size() == 5);
  std::vector<std::string> rows;
  for (std::size_t row = 0; row < 5; ++row) rows.push_back(described(timeline, row));
  CHECK(std::is_sorted(timeline.range_metrics.range.begin(), timeline.range_metrics.range.end()));
  for (const std::string wanted : {"layer@100 on 1: l2_bytes 1.000000", "layer@100 on 1: sm_active_ratio 0.250000",
                                   "layer@300 on 1: l2_bytes 2.500000", "recursive@510 on 1: l2_bytes 3.000000",
                                   "layer@290 on 2: l2_bytes 4.000000"})
    CHECK(std::count(rows.begin(), rows.end(), wanted) == 1);
  CHECK(timeline.health.lost_range_counters == 0);
}

TEST_CASE("counters whose range is not there are counted as lost", "[importer]") {
  CaptureBuilder capture;
  capture.on_thread(1).range("layer", 100, 200);
  capture.range_metric("other", 110, 190, "l2_bytes", 1);                                         // no such range
  capture.range_metric("layer", 50, 90, "l2_bytes", 1);                                           // none so early
  capture.range_metric("layer", 110, 190, "l2_bytes", std::numeric_limits<double>::quiet_NaN());  // no number
  capture.on_thread(2).range_metric("layer", 110, 190, "l2_bytes", 1);                            // another thread
  const Timeline timeline = load(capture);
  CHECK(timeline.range_metrics.size() == 0);
  CHECK(timeline.health.lost_range_counters == 4);
  CHECK_FALSE(timeline.health.complete());
}

TEST_CASE("samples are ordered by device, metric and time", "[importer]") {
  CaptureBuilder capture;
  capture.range("step", 0, 900);
  capture.on_device(1).metric_sample("l2_bytes", 100, 200, 7).metric_sample("l2_bytes", 0, 100, 1e300);
  capture.on_device(0).metric_sample("sm_active_ratio", 0, 100, 0.5).metric_sample("l2_bytes", 0, 100, 3);
  capture.metric_sample("sm_active_ratio", 100, 200, 0.75);
  capture.metric_sample("l2_bytes", 300, 200, 1);  // ends before it begins
  const Timeline timeline = load(capture);
  const PmSampleTable& samples = timeline.pm_samples;
  REQUIRE(samples.size() == 5);
  for (std::size_t row = 1; row < samples.size(); ++row) {
    CHECK(std::tuple(samples.device[row - 1], samples.metric[row - 1], samples.begin_ns[row - 1]) <
          std::tuple(samples.device[row], samples.metric[row], samples.begin_ns[row]));
  }
  for (std::size_t row = 0; row < samples.size(); ++row) {
    if (timeline.devices[samples.device[row]].id != 1) continue;
    CHECK(timeline.text(samples.metric[row]) == "l2_bytes");
    CHECK(samples.value[row] == (samples.begin_ns[row] == at(0) ? 1e300 : 7));
    CHECK(samples.end_ns[row] - samples.begin_ns[row] == 100);
  }
  CHECK(timeline.health.invalid_activities == 1);
}
