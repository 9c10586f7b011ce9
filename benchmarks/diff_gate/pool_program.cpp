// SPDX-License-Identifier: MIT
// One run for the pool of bench_diff_gate: steps of a small training loop on the CPU, recorded.
//
//   pool_program --output run.rfcap [--steps N] [--slow-percent N]
//
// --slow-percent makes the range "mlp" of both layers do so much more work: a regression that is there.
#include "common/arguments.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using rangefinder::ProfileRange;

/// A block of work that takes a few microseconds and fits into the first level of cache.
double block(std::vector<double>& values) {
  double sum = 0;
  for (double& value : values) {
    value = std::sqrt(value * 1.0001 + 0.5);
    sum += value;
  }
  return sum;
}

class Trainer {
 public:
  explicit Trainer(std::uint32_t slow_percent) : slow_percent_(slow_percent) {}

  void step() {
    const ProfileRange range("train");
    {
      const ProfileRange data("data");
      work(kUnit / 4);
    }
    {
      const ProfileRange forward("forward");
      for (int layer = 0; layer < 2; ++layer) this->layer(layer == 0 ? "layer.0" : "layer.1", kUnit);
    }
    {
      const ProfileRange backward("backward");
      for (int layer = 1; layer >= 0; --layer) this->layer(layer == 0 ? "layer.0" : "layer.1", 2 * kUnit);
    }
    {
      const ProfileRange optimizer("optimizer");
      work(kUnit);
    }
  }
  double result() const noexcept { return sum_; }

 private:
  static constexpr std::uint32_t kUnit = 400;  // blocks

  void layer(const char* name, std::uint32_t blocks) {
    const ProfileRange range(name);
    {
      const ProfileRange attention("attention");
      work(blocks / 2);
    }
    {
      const ProfileRange mlp("mlp");
      work(blocks / 2 + blocks * slow_percent_ / 200);
    }
  }
  void work(std::uint32_t blocks) {
    for (std::uint32_t i = 0; i < blocks; ++i) sum_ += block(values_);
  }

  std::uint32_t slow_percent_;
  std::vector<double> values_ = std::vector<double>(256, 1.5);
  double sum_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::string output;
  std::uint32_t steps = 200, slow_percent = 0;
  bench::read_arguments(argc, argv, {{"--output", &output}, {"--steps", &steps}, {"--slow-percent", &slow_percent}});
  if (output.empty()) return std::fprintf(stderr, "pool_program: --output is missing\n"), 2;
  rangefinder::SessionOptions options;
  options.output = output;
  options.nvtx = false;
  rangefinder::Session session(options);
  if (!session.status()) return std::fprintf(stderr, "%s\n", session.status().error().message().c_str()), 1;
  Trainer trainer(slow_percent);
  for (std::uint32_t i = 0; i < steps; ++i) {
    trainer.step();
    session.step();
  }
  const rangefinder::Status stopped = session.stop();
  if (!stopped) return std::fprintf(stderr, "%s\n", stopped.error().message().c_str()), 1;
  return trainer.result() > 0 ? 0 : 1;  // the work has a use
}
