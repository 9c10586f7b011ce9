// SPDX-License-Identifier: MIT
// How alike each of some vectors is to each of others: a loop over pairs, or over rows, in which every operator works
// on a vector; and the same formula once, over all of them.
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <string>

namespace workloads::vectorized_loops {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t left, right, width;
};

enum class Loop { kPairs, kRows, kNone };

Sizes sizes_of(const std::string& size, Loop baseline) {
  if (baseline == Loop::kPairs) return examples::of_size<Sizes>(size, {6, 5, 16}, {64, 48, 32}, {32, 32, 64});
  return examples::of_size<Sizes>(size, {6, 5, 16}, {256, 32, 32}, {512, 512, 64});
}

constexpr std::int64_t kOperators = 7;  // of the loop's body, with what writes its result

bench::Estimate estimate(const bench::Setup& setup, Loop baseline) {
  const auto [left, right, width] = sizes_of(setup.size, baseline);
  const double pairs = examples::elements({left, right});
  bench::Estimate out =
      examples::estimate_of_elements(examples::elements({left + right, width}), pairs, examples::kFloatBytes);
  out.launches = (baseline == Loop::kPairs ? pairs : static_cast<double>(left)) * kOperators;
  return out;
}

/// exp(-|a - b|^2 / width): of any two vectors, of a vector and many, of many and many.
torch::Tensor likeness(const torch::Tensor& a, const torch::Tensor& b) {
  return torch::exp((a - b).square().sum(-1) / -static_cast<double>(a.size(-1)));
}

class Likeness : public examples::TensorVariant {
 public:
  Likeness(Loop loop, Loop baseline) : loop_(loop), baseline_(baseline) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    const ProfileRange range("likeness");
    if (loop_ == Loop::kNone) {
      out_.copy_(likeness(left_.unsqueeze(1), right_.unsqueeze(0)));
      return;
    }
    for (std::int64_t row = 0; row < left_.size(0); ++row) {
      if (loop_ == Loop::kRows) {
        out_[row].copy_(likeness(left_[row], right_));
        continue;
      }
      for (std::int64_t column = 0; column < right_.size(0); ++column)
        out_[row][column].copy_(likeness(left_[row], right_[column]));
    }
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(out_.numel());
    return work;
  }

 private:
  void make() override {
    const Sizes sizes = sizes_of(size(), baseline_);
    left_ = torch::randn({sizes.left, sizes.width}).to(device());
    right_ = torch::randn({sizes.right, sizes.width}).to(device());
    out_ = torch::zeros({sizes.left, sizes.right}, device());
  }
  std::vector<NamedTensor> given() override { return {{"left", left_}, {"right", right_}}; }
  std::vector<NamedTensor> results() override { return {{"likeness", out_}}; }

  Loop loop_, baseline_;
  torch::Tensor left_, right_, out_;
};

bench::Benchmark vectorized_loops(Loop baseline) {
  bench::Benchmark benchmark;
  benchmark.devices = {"cpu", "cuda"};
  // Sums of a vector alone and of one among many may have another order.
  benchmark.baseline = {[=] { return std::make_unique<Likeness>(baseline, baseline); }, {1e-5, 1e-6}, {1e-5, 1e-6}};
  benchmark.optimized = {[=] { return std::make_unique<Likeness>(Loop::kNone, baseline); }, {1e-5, 1e-6}, {1e-5, 1e-6}};
  benchmark.estimate = [=](const bench::Setup& setup) { return estimate(setup, baseline); };
  benchmark.iterations = 10;
  benchmark.warmup = 2;
  return benchmark;
}

bench::Benchmark pairs() {
  bench::Benchmark benchmark = vectorized_loops(Loop::kPairs);
  benchmark.name = "vectorized_loops";
  benchmark.purpose = "a loop of tensor operators over pairs of vectors, one expression";
  benchmark.least_ratio_cpu = 10;
  benchmark.least_ratio_cuda = 10;  // seven launches, not seven for each of a thousand pairs
  return benchmark;
}

bench::Benchmark rows() {
  bench::Benchmark benchmark = vectorized_loops(Loop::kRows);
  benchmark.name = "vectorized_loops_rows";
  benchmark.purpose = "a loop of tensor operators over rows, one expression";
  benchmark.informational = true;  // how much depends on how long a row is
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(pairs()) && bench::add_benchmark(rows());

}  // namespace workloads::vectorized_loops
