// SPDX-License-Identifier: MIT
// One run for the pool of bench_diff_gate: steps of a small training loop on the CPU, recorded.
//
//   pool_program --output run.rfcap [--steps N] [--slow-percent N]
//
// --slow-percent, a multiple of 5, makes the ranges "mlp" do so much more work: a regression that is there.
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

// Work of four kinds, which other programs on the machine slow down in different ways. Each call takes some
// microseconds.

/// Arithmetic in the first level of cache.
class Arithmetic {
 public:
  double run() {
    double sum = 0;
    for (double& value : values_) sum += value = std::sqrt(value * 1.0001 + 0.5);
    return sum;
  }

 private:
  std::vector<double> values_ = std::vector<double>(256, 1.5);
};

/// A small matrix product, from the second level.
class Product {
 public:
  double run() {
    constexpr std::size_t kSize = 24;
    for (std::size_t i = 0; i < kSize; ++i)
      for (std::size_t j = 0; j < kSize; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < kSize; ++k) sum += a_[(i + turn_) % kSize * kSize + k] * b_[k * kSize + j];
        c_[i * kSize + j] = sum * 0.01;
      }
    ++turn_;
    return c_[turn_ % c_.size()];
  }

 private:
  std::size_t turn_ = 0;
  std::vector<double> a_ = std::vector<double>(24 * 24, 0.5), b_ = a_, c_ = a_;
};

/// A stretch of a buffer that no cache of a core holds.
class Stream {
 public:
  double run() {
    constexpr std::size_t kStretch = 4096;
    double sum = 0;
    for (std::size_t i = 0; i < kStretch; ++i) sum += values_[at_ + i] = values_[at_ + i] * 0.999f + 0.001f;
    at_ = (at_ + kStretch) % values_.size();
    return sum;
  }

 private:
  std::size_t at_ = 0;
  std::vector<float> values_ = std::vector<float>(std::size_t{1} << 21, 1.0f);
};

/// Allocations of many sizes, and reads that depend on each other.
class Batch {
 public:
  double run() {
    double sum = 0;
    for (std::size_t i = 1; i <= 16; ++i) {
      random_ = random_ * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
      const std::vector<std::uint8_t> sample(64 + (random_ >> 52), static_cast<std::uint8_t>(random_));
      sum += sample[sample.size() / i];
    }
    return sum;
  }

 private:
  std::uint64_t random_ = 42;
};

class Trainer {
 public:
  explicit Trainer(std::uint32_t slow_percent) : slow_percent_(slow_percent) {}

  void step() {
    const ProfileRange range("train");
    {
      const ProfileRange data("data");
      repeat(batch_, 80);
    }
    {
      const ProfileRange forward("forward");
      layer("layer.0", 1);
      layer("layer.1", 1);
    }
    {
      const ProfileRange backward("backward");
      layer("layer.1", 2);
      layer("layer.0", 2);
    }
    const ProfileRange optimizer("optimizer");
    repeat(stream_, 100);
  }
  double result() const noexcept { return sum_; }

 private:
  void layer(const char* name, std::uint32_t passes) {
    const ProfileRange range(name);
    {
      const ProfileRange norm("norm");
      repeat(stream_, 20 * passes);
    }
    {
      const ProfileRange attention("attention");
      repeat(arithmetic_, 160 * passes);
    }
    const ProfileRange mlp("mlp");
    repeat(product_, passes * kProducts * (100 + slow_percent_) / 100);
  }
  template <typename Work>
  void repeat(Work& work, std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) sum_ += work.run();
  }

  static constexpr std::uint32_t kProducts = 20;
  std::uint32_t slow_percent_;
  Arithmetic arithmetic_;
  Product product_;
  Stream stream_;
  Batch batch_;
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
