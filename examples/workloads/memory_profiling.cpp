// SPDX-License-Identifier: MIT
// Where the bytes of a step are: weights and gradients, which both variants hold from the start, and activations, which
// checkpointed blocks do not keep. The batch is large beside the weights: elsewhere there would be nothing to gain.
#include "common/checkpoint.hpp"
#include "common/estimates.hpp"
#include "common/libtorch_worker.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <string>
#include <vector>

namespace workloads::memory_profiling {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t batch, width, inner, blocks;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {128, 32, 128, 4}, {512, 256, 1024, 16}, {4096, 512, 2048, 8});
}

double flops_of(const Sizes& sizes) {
  const double of_data = examples::elements({sizes.width, sizes.inner});
  return examples::training_flops(2 * of_data * static_cast<double>(sizes.blocks), static_cast<double>(sizes.batch),
                                  of_data);
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double data = examples::elements({sizes.batch, sizes.width});
  const double weights = static_cast<double>(sizes.blocks) * (examples::linear_elements(sizes.width, sizes.inner) +
                                                              examples::linear_elements(sizes.inner, sizes.width));
  bench::Estimate out =
      examples::estimate_of_elements(2 * data + weights, data + 1 + weights, examples::kFloatBytes, flops_of(sizes));
  out.launches = (examples::training_launches(4) + 4) * static_cast<double>(sizes.blocks);
  return out;
}

class ResidualBlockImpl : public torch::nn::Module {
 public:
  ResidualBlockImpl(std::int64_t width, std::int64_t inner)
      : up_(register_module("up", torch::nn::Linear(width, inner))),
        down_(register_module("down", torch::nn::Linear(inner, width))) {}
  torch::Tensor forward(const torch::Tensor& x) { return x + down_(torch::relu(up_(x))); }

 private:
  torch::nn::Linear up_, down_;
};
TORCH_MODULE(ResidualBlock);

class Step : public examples::TensorVariant {
 public:
  explicit Step(bool checkpointed) : checkpointed_(checkpointed) {}

  void step() override {
    blocks_->zero_grad(/*set_to_none=*/false);
    const std::int64_t before = examples::live_bytes(device());
    torch::Tensor x = data_;
    {
      const ProfileRange range("forward");
      for (const auto& module : *blocks_) {
        auto* const block = module->as<ResidualBlockImpl>();
        x = checkpointed_ ? examples::checkpoint([block](const torch::Tensor& in) { return block->forward(in); }, x)
                          : block->forward(x);
      }
    }
    const torch::Tensor loss = torch::mse_loss(x, target_);
    activation_bytes_ = examples::live_bytes(device()) - before;
    {
      const ProfileRange range("backward");
      loss.backward();
    }
    out_ = x.detach();
    loss_ = loss.detach();
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(data_.size(0));
    work.flops = flops_of(sizes_of(size()));
    work.flops_type = "fp32";
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    double weights = 0;
    for (const torch::Tensor& weight : blocks_->parameters()) weights += static_cast<double>(weight.nbytes());
    return {{"parameter_bytes", weights, bench::MetricKind::kBytes},
            {"gradient_bytes", weights, bench::MetricKind::kBytes},
            {"activation_bytes_after_forward", static_cast<double>(activation_bytes_), bench::MetricKind::kBytes}};
  }

 private:
  void make() override {
    const Sizes sizes = sizes_of(size());
    for (std::int64_t i = 0; i < sizes.blocks; ++i) blocks_->push_back(ResidualBlock(sizes.width, sizes.inner));
    blocks_->to(device());
    for (torch::Tensor& parameter : blocks_->parameters()) parameter.mutable_grad() = torch::zeros_like(parameter);
    data_ = torch::randn({sizes.batch, sizes.width}).to(device());
    target_ = torch::randn({sizes.batch, sizes.width}).to(device());
  }
  std::vector<NamedTensor> given() override {
    std::vector<NamedTensor> all{{"data", data_}, {"target", target_}};
    for (NamedTensor& weight : examples::parameters_of(*blocks_)) all.push_back(std::move(weight));
    return all;
  }
  std::vector<NamedTensor> results() override {
    std::vector<NamedTensor> all{{"output", out_}, {"loss", loss_}};
    for (NamedTensor& gradient : examples::gradients_of(*blocks_)) all.push_back(std::move(gradient));
    return all;
  }

  bool checkpointed_;
  torch::nn::ModuleList blocks_;
  torch::Tensor data_, target_, out_, loss_;
  std::int64_t activation_bytes_ = 0;
};

bench::Benchmark memory_profiling() {
  bench::Benchmark benchmark;
  benchmark.name = "memory_profiling";
  benchmark.estimate = estimate;
  benchmark.purpose = "bytes of weights, gradients, activations; blocks checkpointed";
  benchmark.goal = bench::Goal::kMemory;
  benchmark.memory_above_setup = true;
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Step>(false); }, {0, 0}, {1e-5, 1e-6}};
  benchmark.optimized = {[] { return std::make_unique<Step>(true); }, {0, 0}, {1e-5, 1e-6}};
  benchmark.least_ratio_cpu = 2;
  benchmark.least_ratio_cuda = 1.6;
  benchmark.time_bound = 1.6;  // each block runs forward twice: a third more, and operators on small tensors
  benchmark.iterations = 10;
  benchmark.warmup = 2;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(memory_profiling());

}  // namespace workloads::memory_profiling
