// SPDX-License-Identifier: MIT
// docs/how-to/add-a-workload.md
#include <rangefinder/bench/benchmark.hpp>

#include <memory>
#include <vector>

namespace {

/// examples/bench/matrix_walk.cpp is the whole of it.
class MatrixWalk : public rangefinder::bench::Variant {
 public:
  explicit MatrixWalk(bool along_rows) : along_rows_(along_rows) {}
  void setup(const rangefinder::bench::Setup&) override {}
  void step() override { sum_ += along_rows_ ? 1 : 2; }
  std::vector<rangefinder::bench::TensorView> inputs() override { return {}; }
  std::vector<rangefinder::bench::TensorView> outputs() override { return {}; }

 private:
  bool along_rows_;
  int sum_ = 0;
};

// clang-format off
rangefinder::bench::Benchmark matrix_walk() {
  rangefinder::bench::Benchmark benchmark;
  benchmark.name = "matrix_walk";                      // letters, digits, _ - . : it becomes a folder
  benchmark.goal = rangefinder::bench::Goal::kSpeed;   // kMemory: peak bytes decide; kThroughput: wall time on a CPU, too
  benchmark.baseline = {[] { return std::make_unique<MatrixWalk>(false); }, {1e-5, 1e-6}};   // relative, absolute
  benchmark.optimized = {[] { return std::make_unique<MatrixWalk>(true); }, {1e-5, 1e-6}};
  benchmark.least_ratio_cpu = 2;                       // fails below; checked at size cpu, 0: shown only
  return benchmark;
}

[[maybe_unused]] const bool kAdded = rangefinder::bench::add_benchmark(matrix_walk());
// clang-format on

}  // namespace
