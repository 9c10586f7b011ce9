// SPDX-License-Identifier: MIT
// Plays four training steps on a simulated device and shows what belongs to which range. No GPU is involved: every line
// that is printed says so, and so do the capture and the trace.
//
//   simulated_step [--out FOLDER]
#include "fake_cupti.h"

#include <rangefinder/exporters.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/report.hpp>
#include <rangefinder/session.hpp>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

namespace {

using rangefinder::Category;
using rangefinder::ProfileRange;

constexpr std::uint32_t kComputeStream = 7;
constexpr std::uint32_t kCopyStream = 13;

void say(const std::string& line) { std::printf("[simulated] %s\n", line.c_str()); }

/// An operator that launches one kernel.
void launch(const char* op, const char* kernel_name, std::uint64_t microseconds) {
  ProfileRange range{std::string_view(op), Category::operators()};
  FakeKernel kernel;
  kernel.name = kernel_name;
  kernel.duration_ns = microseconds * 1000;
  kernel.grid[0] = 264;
  kernel.block[0] = 256;
  kernel.registers = 96;
  kernel.dynamic_shared = 48 << 10;
  kernel.stream = kComputeStream;
  fakecupti_launch("cudaLaunchKernel_v7000", &kernel);
}

void copy_batch() {
  ProfileRange range{"data"};
  ProfileRange op{"aten::copy_", Category::operators()};
  FakeCopy copy;
  copy.bytes = std::uint64_t{8} << 20;
  copy.duration_ns = 340'000;
  copy.stream = kCopyStream;
  fakecupti_copy("cudaMemcpyAsync_v3020", &copy);
}

void forward(int layers) {
  ProfileRange range{"forward"};
  for (int i = 0; i < layers; ++i) {
    ProfileRange layer{"layer." + std::to_string(i)};
    {
      ProfileRange part{"attention"};
      launch("aten::linear", "sm90_gemm_qkv", 120);
      launch("aten::scaled_dot_product_attention", "flash_fwd_kernel", 90);
      launch("aten::linear", "sm90_gemm_out", 45);
    }
    ProfileRange part{"mlp"};
    launch("aten::linear", "sm90_gemm_up", 150);
    launch("aten::gelu", "elementwise_gelu", 20);
    launch("aten::linear", "sm90_gemm_down", 150);
  }
}

/// Autograd runs backward on a thread of its own, in the opposite order.
void backward(int layers) {
  ProfileRange range{"backward"};
  for (int i = layers - 1; i >= 0; --i) {
    ProfileRange layer{"layer." + std::to_string(i)};
    launch("MlpBackward", "sm90_gemm_mlp_grad", 600);
    launch("FlashAttentionBackward", "flash_bwd_kernel", 240);
    launch("QkvBackward", "sm90_gemm_qkv_grad", 300);
  }
}

void train_step() {
  constexpr int kLayers = 3;
  ProfileRange step{"step"};
  copy_batch();
  forward(kLayers);
  std::thread([] {
    backward(kLayers);
    // Work outside any range: the report has a line for it.
    FakeKernel kernel;
    kernel.name = "nccl_all_reduce";
    kernel.duration_ns = 150'000;
    fakecupti_launch("cudaLaunchKernelExC_v11060", &kernel);
  }).join();
  {
    ProfileRange range{"optimizer"};
    launch("aten::_fused_adamw_", "fused_adamw", 180);
  }
  ProfileRange range{"wait"};
  fakecupti_synchronize("cudaDeviceSynchronize_v3020", 1, 0xFFFFFFFFu);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1 && (argc != 3 || std::string_view(argv[1]) != "--out"))
    return std::fprintf(stderr, "usage: simulated_step [--out FOLDER]\n"), 2;
  const std::string folder = argc > 1 ? argv[2] : ".";
  ::setenv("RANGEFINDER_CUPTI_LIBRARY", SIMULATED_CUPTI, 1);
  fakecupti_add_stream(1, kCopyStream, 0);

  rangefinder::SessionOptions options;
  options.output = folder + "/simulated.rfcap";
  rangefinder::Session session(options);
  if (!session.status().ok()) return say(session.status().error().message()), 1;
  for (int i = 0; i < 4; ++i) {
    train_step();
    session.step();
  }
  if (rangefinder::Status status = session.stop(); !status.ok()) return say(status.error().message()), 1;

  rangefinder::ReportOptions report;
  report.view = "tree";
  const rangefinder::Result<std::string> text = rangefinder::render_report(options.output, report);
  if (!text) return say(text.error().message()), 1;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) say(line);

  const std::string trace = folder + "/simulated.pt.trace.json.gz";
  rangefinder::ChromeExportOptions chrome;
  chrome.replace = true;
  if (rangefinder::Status status = rangefinder::export_chrome_trace(options.output, trace, chrome); !status.ok())
    return say(status.error().message()), 1;
  say("capture: " + options.output);
  say("trace:   " + trace);
  return 0;
}
