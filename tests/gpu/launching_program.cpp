// SPDX-License-Identifier: MIT
// A program that knows nothing of rangefinder: so many kernels, by the runtime where it is there.
#include <cuda_program.hpp>

#include <cstdio>
#include <cstdlib>

using rangefinder::Result;
using rangefinder::testing::CudaInterface;
using rangefinder::testing::CudaProgram;

int main(int argc, char** argv) {
  Result<CudaProgram> program = CudaProgram::open(CudaInterface::kRuntime);
  if (!program) program = CudaProgram::open();
  if (!program) {
    std::fprintf(stderr, "%s\n", program.error().message().c_str());
    return 3;
  }
  const int kernels = argc > 1 ? std::atoi(argv[1]) : 1;
  for (int i = 0; i < kernels; ++i)
    if (!program->launch(i % 2, 1000).ok()) return 4;
  return program->synchronize().ok() ? 0 : 5;
}
