// SPDX-License-Identifier: MIT
// LibTorch's own marker, without a listener and under Kineto's CPU profiler.
#include "common/cases.hpp"
#include "common/kineto.hpp"

#include <ATen/record_function.h>

std::vector<bench::Case> torch_cases() {
  std::vector<bench::Case> all(2);
  all[0].name = "LibTorch/RECORD_USER_SCOPE";
  all[0].what = "no listener";
  all[0].run = BENCH_LOOP(RECORD_USER_SCOPE("static"); BENCH_BODY);
  all[1].name = "LibTorch/Kineto, CPU";
  all[1].what = "recording";
  all[1].set_up = bench::start_kineto;
  all[1].thread_set_up = bench::join_kineto;
  all[1].run = BENCH_LOOP(RECORD_USER_SCOPE("static"); BENCH_BODY);
  return all;
}
