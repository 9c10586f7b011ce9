// SPDX-License-Identifier: MIT
// What the recording of device activity adds to a launch: on a GPU, or our own share on a simulated CUPTI.
//
//   bench_launch_cost [--rounds N] [--only device|share]
//
// Exits with 1 where a target is not met.
#include "common/cases.hpp"
#include "parts.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {
constexpr const char* kUsage = "bench_launch_cost [--rounds N] [--only device|share]\n";
}

int main(int argc, char** argv) {
  int rounds = 60;
  std::string only;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc || (option != "--rounds" && option != "--only")) return std::fprintf(stderr, "%s", kUsage), 2;
    if (option == "--rounds") rounds = std::atoi(argv[i + 1]);
    if (option == "--only") only = argv[i + 1];
  }
  if (rounds < 1 || (!only.empty() && only != "device" && only != "share"))
    return std::fprintf(stderr, "%s", kUsage), 2;
  std::printf("launch cost: %s\n", bench::machine().c_str());
  if (only != "device") bench::own_share(rounds);
  if (only == "share") return bench::exit_code();
  // Not opened here: a child of fork cannot use the driver of its parent.
  if (::access("/dev/nvidiactl", F_OK) == 0)
    bench::device_cost(rounds);
  else
    std::printf("\nSKIPPED: launches of a device: no NVIDIA device on this machine\n");
  return bench::exit_code();
}
