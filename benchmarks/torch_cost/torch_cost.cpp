// SPDX-License-Identifier: MIT
// What a session costs a program that uses LibTorch, beside the same program without one and beside Kineto.
//
//   bench_torch_cost [--rounds N] [--only forward|range|operator|step|gpu-step|size]
//
// Exits with 1 where a target is not met.
#include "common/arguments.hpp"
#include "parts.hpp"
#include "recording.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

constexpr const char* kUsage = "bench_torch_cost [--rounds N] [--only forward|range|operator|step|gpu-step|size]\n";

struct Part {
  const char* name;
  void (*run)(int rounds);
};
constexpr Part kParts[] = {{"forward", bench::forward_cost},   {"range", bench::range_cost},
                           {"operator", bench::operator_cost}, {"step", bench::step_cost},
                           {"gpu-step", bench::gpu_step_cost}, {"size", bench::operator_size}};

}  // namespace

int main(int argc, char** argv) {
  int rounds = 60;
  std::string only;
  bench::read_arguments(argc, argv, {{"--rounds", &rounds}, {"--only", &only}});
  bool known = only.empty();
  for (const Part& part : kParts) known = known || only == part.name;
  if (!known) return std::fprintf(stderr, "%s", kUsage), 2;
  (void)bench::folder();  // before any process is made: all of them record there
  std::printf("LibTorch: %s\n", bench::machine().c_str());
  for (const Part& part : kParts) {
    if (only.empty() || only == part.name) part.run(rounds);
  }
  ::rmdir(bench::folder().c_str());
  return bench::exit_code();
}
