// SPDX-License-Identifier: MIT
// The worker of all workloads: `rangefinder bench run --worker` starts it, a process for each variant of a benchmark.
#include "common/libtorch_worker.hpp"

int main(int argc, char** argv) {
  rangefinder::bench::set_worker_hooks(examples::libtorch_hooks());
  return rangefinder::bench::worker_main(argc, argv);
}
