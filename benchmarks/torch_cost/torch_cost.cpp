// SPDX-License-Identifier: MIT
// What a session costs a program that uses LibTorch, beside the same program without one and beside Kineto.
//
//   bench_torch_cost [--rounds N] [--only forward|range|operator|step|gpu-step|size]
//
// Exits with 1 where a target is not met.
#include "parts.hpp"
#include "recording.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
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
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc || (option != "--rounds" && option != "--only")) return std::fprintf(stderr, "%s", kUsage), 2;
    if (option == "--rounds") rounds = std::atoi(argv[i + 1]);
    if (option == "--only") only = argv[i + 1];
  }
  bool known = only.empty();
  for (const Part& part : kParts) known = known || only == part.name;
  if (!known || rounds < 1) return std::fprintf(stderr, "%s", kUsage), 2;
  (void)bench::folder();  // before any process is made: all of them record there
  std::printf("LibTorch: %s\n", bench::machine().c_str());
  for (const Part& part : kParts) {
    if (only.empty() || only == part.name) part.run(rounds);
  }
  ::rmdir(bench::folder().c_str());
  return bench::exit_code();
}
