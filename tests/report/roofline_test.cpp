// SPDX-License-Identifier: MIT
//
// The view roofline: FLOP/s and bytes/s of ranges as shares of the peaks of the machine.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

constexpr char kShapes[] = "[[1000, 1000], [1000, 1000]]";  // 2 GFLOP; 12 MB of float
constexpr char kFloats[] = R"(["float", "float"])";

Timeline on_device() {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("layer", 10, 50);
  builder.range("aten::mm", 20, 30).given(kShapes, kFloats).launch(25).kernel(0, 2 * kMs);
  builder.launch(40).kernel(2 * kMs, 4 * kMs);
  builder.launch(60).kernel(4 * kMs, 8 * kMs);
  builder.timeline().devices[0].name = "GPU 9000";
  return builder.build();
}

std::string roofline_report(const Timeline& timeline, ReportFormat format, const MachinePeaks* peaks,
                            const char* view = "roofline") {
  ReportOptions options;
  options.view = view;
  options.format = format;
  options.peaks = peaks;
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("FLOP/s, bytes/s and intensity of ranges, without peaks", "[report]") {
  const Timeline timeline = on_device();
  const std::string csv = roofline_report(timeline, ReportFormat::kCsv, nullptr);
  INFO(csv);
  CHECK(has(csv,
            "Range,On,Busy (ns),FLOPs,GFLOP/s,Bytes (B),GB/s,FLOP a byte,Types,Bound by,Of peak "
            "(%),Source,Known (%),Path,Depth,Id,Parent id\n"));
  CHECK(has(csv, "\nstep,device,8000000,2000000000,250.000,12000000,1.500,166.67,fp32,,,shapes,25.0,step,0,1,\n"));
  CHECK(has(csv,
            "\nlayer,device,4000000,2000000000,500.000,12000000,3.000,166.67,fp32,,,shapes,50.0,step/layer,1,2,1\n"));
  CHECK(has(roofline_report(timeline, ReportFormat::kText, nullptr), "run `rangefinder measure-peaks -o peaks.json`"));
}

TEST_CASE("ranges against the peaks of the device that ran them", "[report]") {
  const Timeline timeline = on_device();
  MachinePeaks peaks{
      "c.json",
      {{"GPU 9000", "flops", "fp32", 1e12}, {"GPU 9000", "bandwidth", "triad", 1e11}, {"host", "flops", "fp32", 1}}};
  SECTION("computing is the longer part") {
    // 2 ms at 10^12 a second, of 4 ms; 0.12 ms for the bytes.
    CHECK(has(roofline_report(timeline, ReportFormat::kCsv, &peaks), "fp32,compute,50.0,shapes,50.0,step/layer"));
  }
  SECTION("moving is") {
    peaks.rows[1].value = 4e9;  // 3 ms
    CHECK(has(roofline_report(timeline, ReportFormat::kCsv, &peaks), "fp32,memory,75.0,shapes,50.0,step/layer"));
  }
  SECTION("a type that was not measured has no share") {
    peaks.rows[0].type = "fp64";
    CHECK(has(roofline_report(timeline, ReportFormat::kCsv, &peaks), "fp32,,,shapes,50.0,step/layer"));
  }
  SECTION("another machine's say nothing") {
    peaks.rows[0].device = peaks.rows[1].device = "GPU 8000";
    CHECK(has(roofline_report(timeline, ReportFormat::kCsv, &peaks), "fp32,,,shapes,50.0,step/layer"));
    CHECK(has(roofline_report(timeline, ReportFormat::kText, &peaks),
              "c.json has no peaks of GPU 9000, which ran this: no shares (it has GPU 8000, host)"));
  }
}

TEST_CASE("operators against the peaks of the device that ran them", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100);
  builder.range("aten::mm", 20, 30).given(kShapes, kFloats).launch(25).kernel(0, 2 * kMs);
  builder.range("aten::linear", 40, 60).range("aten::addmm", 42, 50);
  builder.given("[[1000], [1000, 1000], [1000, 1000], [], []]", R"(["float", "float", "float", "Scalar", "Scalar"])");
  builder.launch(45).kernel(2 * kMs, 4 * kMs).launch(46).kernel(5 * kMs, 8 * kMs);
  builder.range("aten::mm", 70, 80).given(kShapes, R"(["c10::Half", "c10::Half"])").launch(75).kernel(8 * kMs, 9 * kMs);
  builder.range("aten::mm", 85, 90).given("", "");  // without shapes
  builder.timeline().devices[0].name = "GPU 9000";
  const Timeline timeline = builder.build();
  const auto csv = [&](const MachinePeaks* peaks) {
    return roofline_report(timeline, ReportFormat::kCsv, peaks, "roofline_operators");
  };
  CHECK(has(csv(nullptr),
            "Operator,Family,Calls,On,Busy (ns),FLOPs,GFLOP/s,Bytes (B),GB/s,FLOP a byte,Types,Bound by,Of peak (%)\n"
            "aten::addmm,GEMM,1,device,5000000,2000000000,400.000,12004000,2.401,166.61,fp32,,\n"
            "aten::mm,GEMM,2,device,3000000,4000000000,1333.333,18000000,6.000,222.22,fp32+fp16,,\n"));
  MachinePeaks peaks{"c.json",
                     {{"GPU 9000", "flops", "fp32", 1e12},
                      {"GPU 9000", "flops", "fp16", 4e12},
                      {"GPU 9000", "bandwidth", "triad", 1e11}}};
  // 2 ms and 0.5 ms of 3; 2 ms of 5.
  CHECK(has(csv(&peaks), "fp32+fp16,compute,83.3\n"));
  CHECK(has(csv(&peaks), "166.61,fp32,compute,40.0\n"));
  peaks.rows[2].value = 6e9;  // 3 ms
  CHECK(has(csv(&peaks), "fp32+fp16,memory,100.0\n"));
  const std::string text = roofline_report(timeline, ReportFormat::kText, nullptr, "roofline_operators");
  CHECK(has(text, "1 operators are not counted because their input shapes were not recorded"));
  CHECK(has(text, "an operator inside one that is counted has no row"));
}

TEST_CASE("operators of the host alone take the host's time", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 10 * kMs).range("aten::mm", 0, 5 * kMs).given(kShapes, kFloats);
  const MachinePeaks peaks{"c.json", {{"host", "flops", "fp32", 8e11}, {"host", "bandwidth", "copy", 1e10}}};
  CHECK(has(roofline_report(builder.build(), ReportFormat::kCsv, &peaks, "roofline_operators"),
            "\naten::mm,GEMM,1,host,5000000,2000000000,400.000,12000000,2.400,166.67,fp32,compute,50.0\n"));
}

TEST_CASE("work of the host alone is held against the host", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 10 * kMs).range("aten::mm", 0, 5 * kMs).given(kShapes, kFloats);
  builder.range("idle", 20 * kMs, 21 * kMs);
  const Timeline timeline = builder.build();
  const MachinePeaks peaks{"c.json", {{"host", "flops", "fp32", 4e11}, {"host", "bandwidth", "copy", 1e10}}};
  const std::string csv = roofline_report(timeline, ReportFormat::kCsv, &peaks);
  INFO(csv);
  CHECK(has(csv,
            "\nstep,host,10000000,2000000000,200.000,12000000,1.200,166.67,fp32,compute,50.0,shapes,50.0,step,0,1,\n"));
  CHECK(has(csv, "\nidle,host,1000000,,,,,,,,,none,,idle,0,2,\n"));
}

TEST_CASE("peaks of another machine's processor are not used for the host", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 10 * kMs).range("aten::mm", 0, 5 * kMs).given(kShapes, kFloats);
  Timeline timeline = builder.build();
  timeline.metadata.emplace_back("cpu_key", "\"cpu_amd_epyc_9654_192t\"");
  MachinePeaks peaks{
      "c.json", {{"host", "flops", "fp32", 4e11}, {"host", "bandwidth", "copy", 1e10}}, "cpu_amd_epyc_9654_8t"};
  CHECK(has(roofline_report(timeline, ReportFormat::kCsv, &peaks), "fp32,compute,50.0,shapes"));
  peaks.cpu_key = "cpu_intel_xeon_192t";
  CHECK(has(roofline_report(timeline, ReportFormat::kCsv, &peaks), "fp32,,,shapes"));
  CHECK(has(roofline_report(timeline, ReportFormat::kText, &peaks),
            "c.json was measured on cpu_intel_xeon_192t, and this ran on cpu_amd_epyc_9654_192t: no shares"));
  timeline.metadata.clear();  // an older capture does not say
  CHECK(has(roofline_report(timeline, ReportFormat::kCsv, &peaks), "fp32,compute,50.0,shapes"));
}

TEST_CASE("where ranges were counted, times of launches are no times of the others", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 10 * kMs).range("head", 0, 1'000).range("aten::mm", 0, 500).given(kShapes, kFloats);
  Timeline timeline = builder.build();
  timeline.devices[0].name = "GPU 9000";
  timeline.metadata.emplace_back("counter_state", "\"counting\"");
  const MachinePeaks peaks{
      "c.json", {{"GPU 9000", "flops", "fp32", 9e14}, {"GPU 9000", "bandwidth", "copy", 2e13}}, {}};
  const auto measured = [&](std::string_view metric, double value) {
    timeline.range_metrics.append({.metric = timeline.intern(metric), .value = value});
  };
  const bool counted = GENERATE(true, false);
  if (counted) measured("gpu_time_ns", 4e6), measured("flop_fp32", 9e8);
  const std::string csv = roofline_report(timeline, ReportFormat::kCsv, &peaks);
  INFO(csv);
  CHECK(has(csv, "\nhead,,,,,,,,,,,none,,step/head,1,2,1\n"));
  CHECK(has(csv, counted ? "\nstep,device,4000000,900000000,225.000," : "\nstep,,,,,,,,,,,none,,step,0,1,\n"));
  CHECK(has(roofline_report(timeline, ReportFormat::kText, &peaks),
            "device work is not recorded while ranges are counted"));
}

TEST_CASE("bytes of samples stand for the time that these do not cover", "[report]") {
  Timeline timeline = on_device();
  // 1 GB/s in a quarter of the 4 ms of `layer`.
  timeline.pm_samples.append({.metric = timeline.intern("dram_read_bytes"), .end_ns = 1 * kMs, .value = 1e6});
  const std::string csv = roofline_report(timeline, ReportFormat::kCsv, nullptr);
  INFO(csv);
  CHECK(has(csv,
            "\nlayer,device,4000000,2000000000,500.000,4000000,1.000,500.00,fp32,,,\"shapes, bytes: "
            "counters\",50.0,step/layer,1,2,1\n"));
  CHECK(has(roofline_report(timeline, ReportFormat::kText, nullptr), "samples of a part of the device time"));
}

TEST_CASE("operators without shapes are told", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 10).range("aten::mm", 1, 5).given("", "");
  const std::string text = roofline_report(builder.build(), ReportFormat::kText, nullptr);
  INFO(text);
  CHECK(has(text, "1 operators are not counted because their input shapes"));
}

TEST_CASE("hardware counters of a range count before shapes, in the time that they measured", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 10 * kMs).range("aten::mm", 0, 5 * kMs).given(kShapes, kFloats);
  Timeline timeline = builder.build();
  const auto measured = [&](std::string_view metric, double value) {
    timeline.range_metrics.append({.metric = timeline.intern(metric), .value = value});
  };
  measured("gpu_time_ns", 4e6);
  measured("flop_tensor_bf16", 2e9);
  measured("flop_fp32", 1e9);
  measured("dram_read_bytes", 8e6);
  measured("dram_write_bytes", 4e6);
  const std::string csv = roofline_report(timeline, ReportFormat::kCsv, nullptr);
  INFO(csv);
  CHECK(has(csv,
            "\nstep,device,4000000,3000000000,750.000,12000000,3.000,250.00,bf16+fp32,,,counters,100.0,step,0,1,\n"));
}

TEST_CASE("operators that only move bytes are held against the bandwidth", "[report]") {
  TimelineBuilder builder;
  builder.range("norm", 0, 10 * kMs).range("aten::native_layer_norm", 0, 4 * kMs);
  builder.given("[[1000, 1000], [], [1000], [1000], []]", R"(["float", "ScalarList", "float", "float", "Scalar"])");
  const Timeline timeline = builder.build();
  const MachinePeaks peaks{"c.json", {{"host", "bandwidth", "copy", 8e9}}, {}};
  // 8 MB of input and output, 8 kB of parameters and 8 kB of statistics: 1.002 ms at 8 GB/s.
  CHECK(has(roofline_report(timeline, ReportFormat::kCsv, &peaks, "roofline_operators"),
            "\naten::native_layer_norm,normalization,1,host,4000000,0,0.000,8016000,2.004,0.00,,memory,25.1\n"));
  CHECK(has(roofline_report(timeline, ReportFormat::kCsv, &peaks),
            "\nnorm,host,10000000,0,0.000,8016000,0.802,0.00,,memory,"));
}
