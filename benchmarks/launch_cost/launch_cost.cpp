// SPDX-License-Identifier: MIT
// What the recording of device activity adds to a launch: on a GPU (bench_launch_cost), and our own share of it on a
// simulated CUPTI (bench_launch_share).
//
//   bench_launch_cost [--rounds N]
//
// Exits with 1 where a target is not met.
#include "common/arguments.hpp"
#include "common/cases.hpp"
#include "parts.hpp"

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  int rounds = 60;
  bench::read_arguments(argc, argv, {{"--rounds", &rounds}});
  std::printf("launch cost: %s\n", bench::machine().c_str());
  bench::measure_launches(rounds);
  return bench::exit_code();
}
