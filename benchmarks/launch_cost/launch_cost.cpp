// SPDX-License-Identifier: MIT
// What the recording of device activity adds to a launch: on a GPU (bench_launch_cost), and our own share of it on a
// simulated CUPTI (bench_launch_share).
//
//   bench_launch_cost [--rounds N]
//
// Exits with 1 where a target is not met.
#include "common/cases.hpp"
#include "parts.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  const bool has_rounds = argc == 3 && std::string(argv[1]) == "--rounds";
  const int rounds = has_rounds ? std::atoi(argv[2]) : 60;
  if ((argc != 1 && !has_rounds) || rounds < 1) return std::fprintf(stderr, "%s [--rounds N]\n", argv[0]), 2;
  std::printf("launch cost: %s\n", bench::machine().c_str());
  bench::measure_launches(rounds);
  return bench::exit_code();
}
