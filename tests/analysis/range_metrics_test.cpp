// SPDX-License-Identifier: MIT
#include "analysis/range_metrics.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <string_view>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

void sample(TimelineBuilder& builder, std::string_view metric, std::int64_t begin_ns, std::int64_t end_ns, double value,
            DeviceIndex device = DeviceIndex{0}) {
  PmSampleTable& table = builder.timeline().pm_samples;
  table.append({.device = device,
                .metric = builder.timeline().intern(metric),
                .begin_ns = begin_ns,
                .end_ns = end_ns,
                .value = value});
}

void counted(TimelineBuilder& builder, RangeIndex range, std::string_view metric, double value,
             DeviceIndex device = DeviceIndex{0}) {
  RangeMetricTable& table = builder.timeline().range_metrics;
  table.append({.range = range, .device = device, .metric = builder.timeline().intern(metric), .value = value});
}

}  // namespace

TEST_CASE("samples are given to ranges by the time of their kernels", "[analysis]") {
  // step holds layer; layer's kernel runs at [100, 200), step's own at [250, 300) long after the ranges ended.
  TimelineBuilder builder;
  builder.range("step", 0, 50).range("layer", 10, 20);
  builder.launch(15).kernel(100, 200).launch(30).kernel(250, 300);
  for (int i = 0; i < 4; ++i) sample(builder, "dram_read_bytes", i * 100, (i + 1) * 100, 1000.0 * (i + 1));
  for (int i = 0; i < 4; ++i) sample(builder, "sm_active_ratio", i * 100, (i + 1) * 100, 0.1 * (i + 1));
  const Timeline timeline = builder.build();
  const RangeMetrics metrics(timeline, project(timeline, {}));

  const RangeMetric* layer = metrics.find(RangeIndex{1}, "dram_read_bytes");
  REQUIRE(layer != nullptr);
  CHECK(layer->source == MetricSource::kSamples);
  CHECK(layer->value == Approx(2000));
  CHECK(layer->device_ns == 100);
  CHECK(layer->covered_ratio == 1);
  const RangeMetric* step = metrics.find(RangeIndex{0}, "dram_read_bytes");
  REQUIRE(step != nullptr);
  CHECK(step->value == Approx(2000 + 3000.0 / 2));
  CHECK(step->device_ns == 150);
  // A ratio is the average over that time: 100 ns at 0.2 and 50 ns at 0.3.
  REQUIRE(metrics.find(RangeIndex{0}, "sm_active_ratio") != nullptr);
  CHECK(metrics.find(RangeIndex{0}, "sm_active_ratio")->value == Approx((100 * 0.2 + 50 * 0.3) / 150));
  CHECK(metrics.find(RangeIndex{0}, "dram_write_bytes") == nullptr);
  REQUIRE(metrics.dram_bytes(RangeIndex{0}));
  CHECK(metrics.dram_bytes(RangeIndex{0})->value == Approx(3500));
  CHECK_FALSE(metrics.flops(RangeIndex{0}));
  CHECK(metrics.metrics().size() == 2);
}

TEST_CASE("kernels of a range that overlap are counted once", "[analysis]") {
  TimelineBuilder builder;
  builder.range("layer", 0, 50);
  builder.launch(1).kernel(100, 180).on_stream(8).launch(2).kernel(120, 200).launch(3).kernel(130, 140);
  sample(builder, "l2_bytes", 0, 400, 4000);
  const Timeline timeline = builder.build();
  const RangeMetrics metrics(timeline, project(timeline, {}));
  REQUIRE(metrics.find(RangeIndex{0}, "l2_bytes") != nullptr);
  CHECK(metrics.find(RangeIndex{0}, "l2_bytes")->value == Approx(1000));
  CHECK(metrics.find(RangeIndex{0}, "l2_bytes")->device_ns == 100);
}

TEST_CASE("a gap between samples is said, and nothing is made up for it", "[analysis]") {
  TimelineBuilder builder;
  builder.range("layer", 0, 50).range("late", 60, 70);
  builder.launch(1).kernel(100, 200).launch(65).kernel(500, 600);
  sample(builder, "dram_read_bytes", 100, 150, 500);
  SECTION("samples that overlap count what is new") { sample(builder, "dram_read_bytes", 120, 160, 10); }
  SECTION("an empty sample is nothing") { sample(builder, "dram_read_bytes", 150, 150, 1e9); }
  const bool overlapping =
      builder.timeline().pm_samples.size() > 1 && builder.timeline().pm_samples.end_ns.back() == 160;
  const Timeline timeline = builder.build();
  const RangeMetrics metrics(timeline, project(timeline, {}));
  const RangeMetric* layer = metrics.find(RangeIndex{0}, "dram_read_bytes");
  REQUIRE(layer != nullptr);
  CHECK(layer->value == Approx(overlapping ? 510 : 500));
  CHECK(layer->covered_ratio == Approx(overlapping ? 0.6 : 0.5));
  CHECK(layer->busy_ns == 100);
  // Busy, and no sample of it: not measured, which is not the same as not there.
  CHECK(metrics.find(RangeIndex{1}, "dram_read_bytes") == nullptr);
  CHECK_FALSE(metrics.dram_bytes(RangeIndex{1}));
  REQUIRE(metrics.rows().size() == 2);
  CHECK(metrics.rows()[1].range == 1);
  CHECK(metrics.rows()[1].covered_ratio == 0);
  CHECK(metrics.rows()[1].busy_ns == 100);
}

TEST_CASE("each device has samples of its own", "[analysis]") {
  TimelineBuilder builder;
  builder.range("layer", 0, 50);
  builder.launch(1).kernel(100, 200).on_device(1).launch(2).kernel(100, 300);
  sample(builder, "dram_read_bytes", 0, 1000, 1000, DeviceIndex{0});
  sample(builder, "sm_active_ratio", 0, 1000, 0.9, DeviceIndex{0});
  sample(builder, "dram_read_bytes", 0, 1000, 8000, DeviceIndex{1});
  sample(builder, "sm_active_ratio", 0, 1000, 0.3, DeviceIndex{1});
  const Timeline timeline = builder.build();
  const RangeMetrics metrics(timeline, project(timeline, {}));
  REQUIRE(metrics.find(RangeIndex{0}, "dram_read_bytes") != nullptr);
  CHECK(metrics.find(RangeIndex{0}, "dram_read_bytes")->value == Approx(100 + 1600));
  CHECK(metrics.find(RangeIndex{0}, "sm_active_ratio")->value == Approx((100 * 0.9 + 200 * 0.3) / 300));
}

TEST_CASE("what the range profiler counted comes before samples", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 50).range("layer", 10, 20);
  builder.launch(15).kernel(100, 200);
  counted(builder, RangeIndex{1}, "gpu_time_ns", 400);
  counted(builder, RangeIndex{1}, "dram_read_bytes", 6000);
  counted(builder, RangeIndex{1}, "dram_write_bytes", 2000);
  counted(builder, RangeIndex{1}, "flop_fp32", 70);
  counted(builder, RangeIndex{1}, "flop_tensor_bf16", 1000);
  sample(builder, "dram_read_bytes", 0, 1000, 1000);
  const Timeline timeline = builder.build();
  const RangeMetrics metrics(timeline, project(timeline, {}));
  REQUIRE(metrics.find(RangeIndex{1}, "dram_read_bytes") != nullptr);
  CHECK(metrics.find(RangeIndex{1}, "dram_read_bytes")->source == MetricSource::kRangeProfiler);
  CHECK(metrics.find(RangeIndex{1}, "dram_read_bytes")->value == 6000);
  CHECK(metrics.find(RangeIndex{1}, "dram_read_bytes")->device_ns == 400);
  REQUIRE(metrics.dram_bytes(RangeIndex{1}));
  CHECK(metrics.dram_bytes(RangeIndex{1})->value == 8000);
  REQUIRE(metrics.flops(RangeIndex{1}));
  CHECK(metrics.flops(RangeIndex{1})->value == 1070);
  // Its parent was not counted: samples are all there is.
  REQUIRE(metrics.dram_bytes(RangeIndex{0}));
  CHECK(metrics.dram_bytes(RangeIndex{0})->source == MetricSource::kSamples);
  CHECK(metrics.dram_bytes(RangeIndex{0})->value == Approx(100));
}

TEST_CASE("a range counted on two devices has the sum, and of ratios the average", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 50);
  builder.on_device(1);
  for (const DeviceIndex device : {DeviceIndex{0}, DeviceIndex{1}}) {
    counted(builder, RangeIndex{0}, "gpu_time_ns", 100 + 100 * device, device);
    counted(builder, RangeIndex{0}, "l2_bytes", 1000, device);
    counted(builder, RangeIndex{0}, "sm_active_ratio", device == 0 ? 0.2 : 0.6, device);
  }
  const Timeline timeline = builder.build();
  const RangeMetrics metrics(timeline, project(timeline, {}));
  CHECK(metrics.find(RangeIndex{0}, "l2_bytes")->value == 2000);
  CHECK(metrics.find(RangeIndex{0}, "l2_bytes")->device_ns == 150);
  CHECK(metrics.find(RangeIndex{0}, "sm_active_ratio")->value == Approx(0.4));
}

TEST_CASE("without counters there is nothing", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 50).launch(1).kernel(10, 20);
  const Timeline timeline = builder.build();
  const RangeMetrics metrics(timeline, project(timeline, {}));
  CHECK(metrics.rows().empty());
  CHECK(metrics.metrics().empty());
  CHECK(metrics.find(RangeIndex{0}, "l2_bytes") == nullptr);
  CHECK_FALSE(metrics.dram_bytes(RangeIndex{0}));
}
