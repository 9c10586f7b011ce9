// SPDX-License-Identifier: MIT
// A program of NCCL's and NVTX's that knows nothing of rangefinder: nccl_program VERSION. It loads what NCCL would.
#include "fake_nccl.hpp"

#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

using rangefinder::testing::FakeNccl;
using rangefinder::testing::NcclTask;

int main(int argc, char** argv) {
  const char* const plugin = std::getenv("NCCL_PROFILER_PLUGIN");
  if (argc != 2 || plugin == nullptr) return std::fprintf(stderr, "no version, or no plugin\n"), 2;
  FakeNccl nccl(std::atoi(argv[1]), plugin);
  const auto communicator = nccl.make("world", 0xC0FFEE, 4, 1);
  nvtxRangePushA("step");
  nvtxRangePushA("backward");
  NcclTask task;
  task.count = 1000;
  task.channels = 2;
  task.uses_network = true;
  nccl.launch(*communicator, {task, task});
  nvtxRangePop();
  std::thread([&] { nccl.progress(); }).join();
  nvtxRangePop();
  nccl.launch(*communicator, {task});
  nccl.finalize(*communicator);
  return 0;
}
