// SPDX-License-Identifier: MIT
// A history of losses that holds tensors holds the graph, and all activations, of every loss in it; one that holds
// numbers does not.
#include "common/estimates.hpp"
#include "common/libtorch_worker.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace workloads::memory_profiling_leak {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t batches, batch, width;
};

constexpr int kLayers = 3;
constexpr std::uint32_t kCheckSteps = 2;

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {2, 32, 32}, {4, 256, 256}, {4, 4096, 1024});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double rows = examples::elements({sizes.batches, sizes.batch});
  const double weights = kLayers * examples::linear_elements(sizes.width, sizes.width);
  // The history is of all steps.
  bench::Estimate out = examples::estimate_of_elements(rows * static_cast<double>(sizes.width) + weights,
                                                       static_cast<double>(kCheckSteps * sizes.batches),
                                                       examples::kFloatBytes, 2 * weights * rows);
  out.launches = static_cast<double>((2 * kLayers + 2) * sizes.batches);
  return out;
}

/// Losses on some batches that are not trained on: without a backward pass nothing frees what the graphs hold.
class Evaluation : public examples::TensorVariant {
 public:
  explicit Evaluation(bool numbers) : numbers_(numbers) {}

  void step() override {
    const std::int64_t before = examples::live_bytes(device());
    for (std::int64_t i = 0; i < data_.size(0); ++i) {
      torch::Tensor loss;
      {
        const ProfileRange range("forward");
        const torch::Tensor& x = data_[i];
        loss = torch::mse_loss(net_->forward(x), x);
      }
      const ProfileRange range("history");
      if (numbers_)
        kept_numbers_.push_back(loss.item<float>());
      else
        kept_tensors_.push_back(loss);
    }
    growth_bytes_ = examples::live_bytes(device()) - before;
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(data_.size(0) * data_.size(1));
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    return {{"growth_bytes_per_step", static_cast<double>(growth_bytes_), bench::MetricKind::kBytes}};
  }

 private:
  void make() override {
    const Sizes sizes = sizes_of(size());
    for (int layer = 0; layer < kLayers; ++layer) {
      net_->push_back(torch::nn::Linear(sizes.width, sizes.width));
      net_->push_back(torch::nn::Tanh());
    }
    net_->to(device());
    data_ = torch::randn({sizes.batches, sizes.batch, sizes.width}).to(device());
  }
  std::vector<NamedTensor> given() override {
    std::vector<NamedTensor> all{{"data", data_}};
    for (NamedTensor& weight : examples::parameters_of(*net_)) all.push_back(std::move(weight));
    return all;
  }
  std::vector<NamedTensor> results() override {
    return {{"history", numbers_ ? torch::tensor(kept_numbers_) : torch::stack(kept_tensors_).detach()}};
  }

  bool numbers_;
  torch::nn::Sequential net_;
  torch::Tensor data_;
  std::vector<torch::Tensor> kept_tensors_;
  std::vector<float> kept_numbers_;
  std::int64_t growth_bytes_ = 0;
};

bench::Benchmark memory_profiling_leak() {
  bench::Benchmark benchmark;
  benchmark.name = "memory_profiling_leak";
  benchmark.estimate = estimate;
  benchmark.purpose = "a history of losses with their graphs; of numbers";
  benchmark.goal = bench::Goal::kMemory;
  benchmark.memory_above_setup = true;
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Evaluation>(false); }, {0, 0}, {1e-5, 1e-6}};
  benchmark.optimized = {[] { return std::make_unique<Evaluation>(true); }, {0, 0}, {1e-5, 1e-6}};
  benchmark.least_ratio_cpu = 4;
  benchmark.check_steps = kCheckSteps;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(memory_profiling_leak());

}  // namespace workloads::memory_profiling_leak
