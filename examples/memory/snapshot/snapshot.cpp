// SPDX-License-Identifier: MIT
// Runs some steps of a small network and learns which part of it holds the memory, and which part keeps it.
//
//   memory_snapshot [FOLDER]
//
// Leaves FOLDER/memory.rfcap, for `rangefinder report --view memory`, and on a machine with a GPU
// FOLDER/memory.pickle, for PyTorch's memory viewer.
#include <rangefinder/range.hpp>
#include <rangefinder/report.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/torch/memory.hpp>
#include <rangefinder/torch/operators.hpp>

#include <torch/cuda.h>
#include <torch/torch.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

using rangefinder::ProfileRange;

constexpr int kSteps = 4;
constexpr std::int64_t kWidth = 256;
constexpr std::int64_t kBatch = 512;

torch::nn::Sequential block() {
  return torch::nn::Sequential(torch::nn::Linear(kWidth, 4 * kWidth), torch::nn::ReLU(),
                               torch::nn::Linear(4 * kWidth, kWidth));
}

void run(rangefinder::Session& session, const torch::Device& device) {
  std::vector<torch::nn::Sequential> blocks;
  std::vector<torch::Tensor> kept;  // the mistake that the report is to find
  for (int i = 0; i < 4; ++i) blocks.push_back(block());
  for (torch::nn::Sequential& each : blocks) each->to(device);
  const torch::Tensor input = torch::rand({kBatch, kWidth}, device);
  for (int step = 0; step < kSteps; ++step) {
    session.step();  // what is there at the end of each is compared
    const ProfileRange step_range{"step"};
    torch::Tensor x = input;
    {
      const ProfileRange range{"forward"};
      for (torch::nn::Sequential& each : blocks) x = x + each->forward(x);
    }
    {
      const ProfileRange range{"backward"};
      x.sum().backward();
    }
    const ProfileRange range{"bookkeeping"};
    kept.push_back(x.detach());  // x.sum().item() would do
    for (torch::nn::Sequential& each : blocks) each->zero_grad();
  }
}

std::string report(const std::string& capture, const std::string& view) {
  rangefinder::ReportOptions options;
  options.view = view;
  return rangefinder::render_report(capture, options).value();
}

void look(const std::string& folder) {
  const std::string capture = folder + "/memory.rfcap";
  rangefinder::SessionOptions options;
  options.output = capture;
  rangefinder::Session session(options);
  {
    const rangefinder::torch::OperatorRecording operators;
    const rangefinder::torch::MemoryRecording memory;
    std::printf("memory of devices: %s\n", memory.cuda_state().c_str());
    run(session, torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
    std::printf("most bytes of tensors on the host: %llu\n",
                static_cast<unsigned long long>(rangefinder::torch::host_memory().peak_bytes));
    if (const rangefinder::Status snapshot = rangefinder::torch::memory_snapshot(folder + "/memory.pickle"); !snapshot)
      std::printf("no snapshot: %s\n", snapshot.error().message().c_str());
  }
  if (const rangefinder::Status stopped = session.stop(); !stopped) throw rangefinder::BadResult(stopped.error());
  for (const char* view : {"memory", "memory_peak", "memory_devices"})
    std::printf("\n%s", report(capture, view).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    look(argc > 1 ? argv[1] : ".");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memory_snapshot: %s\n", error.what());
    return 1;
  }
}
