// SPDX-License-Identifier: MIT
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Two steps of a training loop: work in ranges and outside, two streams, a long kernel's name, copies, failed calls.
Timeline two_steps() {
  TimelineBuilder builder;
  builder.timeline().processes[0].name = "train";
  builder.timeline().threads[0].name = "main";
  const std::string gemm =
      "void "
      "cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_nn_align8>(cutlass_80_tensorop_f16_"
      "s16816gemm_relu_f16_256x128_32x3_nn_align8::Params)";
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::int64_t t = 1'000'000'000 + step * 20'000'000;
    builder.on_thread(1).on_stream(7).range("step", t, t + 15'000'000);
    builder.range("data", t + 10'000, t + 400'000).launch_call("cudaMemcpyAsync", t + 20'000, t + 30'000).on_stream(13);
    builder.memcpy(t + 40'000, t + 380'000, 8'388'608, 1);
    builder.on_stream(7).range("forward", t + 500'000, t + 3'000'000);
    builder.range("layer.0", t + 600'000, t + 1'500'000)
        .launch_call("cudaLaunchKernel", t + 700'000, t + 706'000)
        .kernel(t + 800'000, t + 4'100'000, gemm);
    builder.range("layer.1", t + 1'600'000, t + 2'900'000)
        .launch_call("cudaLaunchKernel", t + 1'700'000, t + 1'705'000)
        .kernel(t + 4'150'000, t + 7'000'123, gemm);
    builder.launch_call("cudaLaunchKernel", t + 2'000'000, t + 2'004'000)
        .kernel(t + 7'010'000, t + 7'019'500, "void relu<float>(float*, int)");
    builder.range("wait", t + 3'100'000, t + 14'000'000).call("cudaStreamSynchronize", t + 3'200'000, t + 13'900'000);
    builder.launch_call("cudaMemsetAsync", t + 16'000'000, t + 16'003'000).memset(t + 16'010'000, t + 16'012'000, 4096);
  }
  change_row(builder.timeline().calls, 0, [&](auto& changed) { changed.result = 2; });
  builder.on_thread(2).range("loader", 1'000'000'000, 1'005'000'000);
  builder.without_launch(999).kernel(999'000'000, 999'500'000, "early");
  builder.window(999'900'000, 1'040'000'000);
  return builder.build();
}

std::string shown(const Timeline& timeline, std::string_view view, ReportFormat format, bool instances,
                  std::size_t width) {
  ReportOptions options;
  options.view = view;
  options.format = format;
  options.instances = instances;
  options.width = width;
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("our own views are what they were", "[report][golden]") {
  const Timeline timeline = two_steps();
  for (const std::string view : {"ranges", "tree", "kernels", "memcpy", "api"}) {
    for (const bool instances : {false, true}) {
      if (instances && view == "tree") continue;
      const std::string base = "report/" + view + (instances ? "_instances" : "");
      for (const std::size_t width : {std::size_t{80}, std::size_t{120}})
        require_golden(base + "_" + std::to_string(width) + ".txt",
                       shown(timeline, view, ReportFormat::kText, instances, width));
      require_golden(base + ".txt", shown(timeline, view, ReportFormat::kText, instances, 0));
      require_golden(base + ".csv", shown(timeline, view, ReportFormat::kCsv, instances, 0));
      require_golden(base + ".json", shown(timeline, view, ReportFormat::kJson, instances, 0));
    }
  }
}
