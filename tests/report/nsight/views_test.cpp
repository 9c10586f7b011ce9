// SPDX-License-Identifier: MIT
#include "importer/nsight/nsight_importer.hpp"
#include "support/nsight_reports.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <vector>

using namespace rangefinder;
using namespace rangefinder::report;
using rangefinder::testing::csv_of;
using rangefinder::testing::NsightReport;
using rangefinder::testing::TimelineBuilder;

TEST_CASE("every report that Nsight printed of a capture is ours byte for byte", "[report][data]") {
  const auto [capture, reports] =
      GENERATE(Catch::Generators::table<std::string, std::size_t>({{"mini", 18}, {"h100_2gpu_1s", 8}}));
  const std::string folder = rangefinder::testing::shared_file("data/nsys/" + capture);
  if (folder.empty()) RANGEFINDER_SKIP("data/nsys is not here");
  const auto timeline = importer::nsight::import_nsight(folder + "/" + capture + ".sqlite", {});
  REQUIRE(timeline);
  const std::vector<NsightReport> nsight = rangefinder::testing::nsight_reports(folder);
  CHECK(nsight.size() == reports);
  for (const NsightReport& report : nsight) {
    CAPTURE(capture, report.view);
    const std::string ours = csv_of(*timeline, report.view);
    if (report.text != ours) FAIL_CHECK(rangefinder::testing::first_difference(report.text, ours));
  }
}

TEST_CASE("kernels can be named by base and mangled names", "[report]") {
  TimelineBuilder builder;
  builder.range("r", 0, 50).launch_call("l", 1, 2).kernel(3, 4, "void ns::gemm<float>(int)");
  builder.timeline().kernel_details[0].mangled = builder.timeline().intern("_Zgemm");
  const Timeline timeline = builder.build();
  const auto last_line = [&](const std::string& view) {
    const std::string csv = csv_of(timeline, view);
    const std::size_t start = csv.rfind('\n', csv.size() - 2) + 1;
    return csv.substr(start, csv.size() - 1 - start);
  };
  CHECK(last_line("cuda_gpu_kern_sum") == "100.0,1,1,1.0,1.0,1,1,0.0,void ns::gemm<float>(int)");
  CHECK(last_line("cuda_gpu_kern_sum:base") == "100.0,1,1,1.0,1.0,1,1,0.0,gemm");
  CHECK(last_line("cuda_gpu_kern_sum:mangled:nvtx-name") == "100.0,1,1,1.0,1.0,1,1,0.0,r/_Zgemm");
  CHECK(last_line("nvtx_kern_sum:base") == "r,PushPop,1,1,1,1,1,1.0,1.0,1,1,0.0,gemm");
}

TEST_CASE("queue columns are empty for kernels that did not wait", "[report]") {
  const Timeline timeline = TimelineBuilder().launch_call("l", 10, 30).kernel(20, 25, "k").build();
  CHECK(csv_of(timeline, "cuda_kern_exec_trace").find("\n10,20,,,20,5,20,1,1,0,l,") != std::string::npos);
  CHECK(
      csv_of(timeline, "cuda_kern_exec_sum").find("\n1,1,0,1,0,20.0,20.0,20,20,0.0,20.0,20.0,20,20,0.0,,,,,0.0,5.0,") !=
      std::string::npos);
}

TEST_CASE("throughput is cut as Nsight cuts it, and absent for copies that took no time", "[report]") {
  const Timeline timeline = TimelineBuilder().launch(0).memcpy(10, 6010, 1'000'000).memcpy(7000, 7000, 5).build();
  const std::string csv = csv_of(timeline, "cuda_gpu_trace");
  CHECK(csv.find(",1.000,166666.000,") != std::string::npos);
  CHECK(csv.find(",0.000,,") != std::string::npos);
}

TEST_CASE("a stack past 256 levels keeps the innermost ones", "[report]") {
  TimelineBuilder builder;
  for (std::int64_t depth = 0; depth < 300; ++depth) builder.range("r", depth, 1000 - depth);
  const std::string csv = csv_of(builder.build(), "nvtx_pushpop_trace");
  CHECK(csv.find(":...:285:286:") != std::string::npos);
  CHECK(csv.find("299,") != std::string::npos);
  CHECK(csv.size() < 700'000);
}
