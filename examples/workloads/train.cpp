// SPDX-License-Identifier: MIT
// The reference loop: a small net, ten updates a step, AdamW. LibTorch's optimizer calls a dozen operators for each
// parameter; the fused one calls one for all.
#include "common/estimates.hpp"
#include "common/fused_adamw.hpp"
#include "common/operator_count.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace workloads::train {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t updates, batch, width, inner;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {3, 8, 64, 16}, {10, 32, 1024, 256}, {10, 32, 1024, 256});
}

double flops_of(const Sizes& sizes) {
  const double of_data = examples::elements({sizes.width, sizes.inner});
  return examples::training_flops(of_data + static_cast<double>(sizes.inner),
                                  examples::elements({sizes.updates, sizes.batch}), of_data);
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double rows = examples::elements({sizes.updates, sizes.batch});
  const double weights =
      examples::linear_elements(sizes.width, sizes.inner) + examples::linear_elements(sizes.inner, 1);
  bench::Estimate out = examples::estimate_of_elements(rows * static_cast<double>(sizes.width + 1) + weights,
                                                       static_cast<double>(sizes.updates) + 2 * weights,
                                                       examples::kFloatBytes, flops_of(sizes));
  out.launches = (examples::training_launches(4) + 4 * examples::kAdamWLaunches) * static_cast<double>(sizes.updates);
  return out;
}

class Training : public examples::TensorVariant {
 public:
  explicit Training(bool fused) : fused_(fused) {}

  void step() override {
    std::vector<torch::Tensor> losses;
    for (std::int64_t i = 0; i < data_.size(0); ++i) losses.push_back(update(i));
    losses_ = torch::stack(losses);
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(data_.size(0) * data_.size(1));
    work.flops = flops_of(sizes_of(size()));
    work.flops_type = "fp32";
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    const std::int64_t operators = examples::operators_of([this] { (void)update(0); });
    return {{"operators_per_update", static_cast<double>(operators), bench::MetricKind::kCount}};
  }

 private:
  torch::Tensor update(std::int64_t i) {
    net_->zero_grad();
    torch::Tensor loss;
    {
      const ProfileRange range("forward");
      loss = torch::mse_loss(net_->forward(data_[i]), target_[i]);
    }
    {
      const ProfileRange range("backward");
      loss.backward();
    }
    const ProfileRange range("optimizer");
    if (fused_)
      fused_optimizer_->step();
    else
      optimizer_->step();
    return loss.detach();
  }

  void make() override {
    const Sizes sizes = sizes_of(size());
    net_->push_back(torch::nn::Linear(sizes.width, sizes.inner));
    net_->push_back(torch::nn::ReLU());
    net_->push_back(torch::nn::Linear(sizes.inner, 1));
    net_->to(device());
    if (fused_)
      fused_optimizer_.emplace(net_->parameters());
    else
      optimizer_.emplace(net_->parameters());
    data_ = torch::randn({sizes.updates, sizes.batch, sizes.width}).to(device());
    target_ = data_.mean(-1, /*keepdim=*/true) * 10 + 1;
  }
  std::vector<NamedTensor> given() override {
    std::vector<NamedTensor> all{{"data", data_}, {"target", target_}};
    for (NamedTensor& weight : examples::parameters_of(*net_)) all.push_back(std::move(weight));
    return all;
  }
  std::vector<NamedTensor> results() override {
    std::vector<NamedTensor> all{{"losses", losses_}};
    for (NamedTensor& gradient : examples::gradients_of(*net_)) all.push_back(std::move(gradient));
    for (NamedTensor& weight : examples::parameters_of(*net_)) all.push_back(std::move(weight));
    return all;
  }

  bool fused_;
  torch::nn::Sequential net_;
  std::optional<torch::optim::AdamW> optimizer_;
  std::optional<examples::FusedAdamW> fused_optimizer_;
  torch::Tensor data_, target_, losses_;
};

bench::Benchmark train() {
  bench::Benchmark benchmark;
  benchmark.name = "train";
  benchmark.estimate = estimate;
  benchmark.purpose = "reference loop with LibTorch's AdamW; with a fused one";
  benchmark.devices = {"cpu", "cuda"};
  // Whole tensors: where a gradient is nearly nothing, its rounding decides AdamW's first update.
  constexpr bench::Tolerance kCpu{.frobenius = 1e-4}, kCuda{.frobenius = 1e-3};
  benchmark.baseline = {[] { return std::make_unique<Training>(false); }, kCpu, kCuda};
  benchmark.optimized = {[] { return std::make_unique<Training>(true); }, kCpu, kCuda};
  benchmark.informational = true;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(train());

}  // namespace workloads::train
