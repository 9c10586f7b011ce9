// SPDX-License-Identifier: MIT
// The same updates in float32 and in mixed precision: autocast computes products in bfloat16, or in float16 with a loss
// that is scaled so that small gradients do not vanish. Weights stay float32.
#include "common/estimates.hpp"
#include "common/mixed_precision.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace workloads::precisionmixed {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr std::int64_t kUpdates = 4;  // of a step

struct Sizes {
  std::int64_t batch;
  std::vector<std::int64_t> widths;
};

// Rows outnumber weights: what autocast halves is activations, beside which weights, their gradients and data are
// small.
Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {256, {16, 64, 64, 16}}, {2048, {64, 512, 512, 64}},
                                  {16384, {256, 2048, 2048, 2048, 256}});
}

double flops_of(const Sizes& sizes) {
  double weights = 0;
  for (std::size_t i = 0; i + 1 < sizes.widths.size(); ++i)
    weights += examples::elements({sizes.widths[i], sizes.widths[i + 1]});
  return examples::training_flops(weights, examples::elements({kUpdates, sizes.batch}),
                                  examples::elements({sizes.widths[0], sizes.widths[1]}));
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const auto& [batch, widths] = sizes;
  double weights = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) weights += examples::linear_elements(widths[i], widths[i + 1]);
  const double rows = examples::elements({kUpdates, batch});
  return examples::estimate_of_elements(rows * static_cast<double>(widths.front() + widths.back()) + weights,
                                        examples::elements({batch, widths.back()}) + 1 + 2 * weights,
                                        examples::kFloatBytes, flops_of(sizes));
}

class Training : public examples::TensorVariant {
 public:
  explicit Training(torch::ScalarType type) : type_(type) {}

  void step() override {
    for (std::int64_t i = 0; i < kUpdates; ++i) update(data_[i], target_[i]);
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(data_.size(0) * data_.size(1));
    work.flops = flops_of(sizes_of(size()));
    work.flops_type = examples::flops_type_of(type_);
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    return {{"skipped_updates", static_cast<double>(scaler_ ? scaler_->skipped() : 0), bench::MetricKind::kCount},
            {"bfloat16_tiles", examples::has_bfloat16_tiles() ? 1.0 : 0.0, bench::MetricKind::kFact},
            {"loss_scale", scaler_ ? scaler_->factor() : 1, bench::MetricKind::kFact}};
  }

 private:
  void update(const torch::Tensor& x, const torch::Tensor& target) {
    optimizer_->zero_grad(/*set_to_none=*/false);
    {
      const ProfileRange range("forward");
      const examples::Autocast precision(device().type(), type_ == torch::kFloat ? torch::kBFloat16 : type_,
                                         type_ != torch::kFloat);
      out_ = net_->forward(x);
      loss_ = torch::mse_loss(out_.to(torch::kFloat), target);
    }
    {
      const ProfileRange range("backward");
      (scaler_ ? scaler_->scale(loss_) : loss_).backward();
    }
    const ProfileRange range("optimizer");
    if (scaler_)
      scaler_->step(net_->parameters(), [this] { optimizer_->step(); });
    else
      optimizer_->step();
  }

  void make() override {
    const Sizes sizes = sizes_of(size());
    for (std::size_t i = 0; i + 1 < sizes.widths.size(); ++i) {
      if (i > 0) net_->push_back(torch::nn::GELU());  // smooth: at a kink rounding would decide the gradient
      net_->push_back(torch::nn::Linear(sizes.widths[i], sizes.widths[i + 1]));
    }
    net_->to(device());
    for (torch::Tensor& parameter : net_->parameters()) parameter.mutable_grad() = torch::zeros_like(parameter);
    optimizer_.emplace(net_->parameters(), torch::optim::SGDOptions(0.1));
    if (type_ == torch::kHalf) scaler_.emplace(device());
    data_ = torch::randn({kUpdates, sizes.batch, sizes.widths.front()}).to(device());
    target_ = torch::randn({kUpdates, sizes.batch, sizes.widths.back()}).to(device());
  }
  std::vector<NamedTensor> given() override {
    std::vector<NamedTensor> all{{"data", data_}, {"target", target_}};
    for (NamedTensor& weight : examples::parameters_of(*net_)) all.push_back(std::move(weight));
    return all;
  }
  std::vector<NamedTensor> results() override {
    std::vector<NamedTensor> all{{"output", out_.to(torch::kFloat)}, {"loss", loss_}};
    for (NamedTensor& gradient : examples::gradients_of(*net_)) all.push_back(std::move(gradient));
    for (NamedTensor& weight : examples::parameters_of(*net_)) all.push_back(std::move(weight));
    return all;
  }

  torch::ScalarType type_;
  torch::nn::Sequential net_;
  std::optional<torch::optim::SGD> optimizer_;
  std::optional<examples::GradScaler> scaler_;
  torch::Tensor data_, target_, out_, loss_;
};

bench::Benchmark precisionmixed(torch::ScalarType type) {
  bench::Benchmark benchmark;
  benchmark.devices = {"cpu", "cuda"};
  // Two percent of the loss, and as much of every other whole tensor: single elements of a gradient may be all noise.
  // The net for a GPU is deeper.
  constexpr bench::Tolerance kCpu{.frobenius = 2e-2}, kCuda{.frobenius = 4e-2};
  benchmark.baseline = {[] { return std::make_unique<Training>(torch::kFloat); }, kCpu, kCuda};
  benchmark.optimized = {[type] { return std::make_unique<Training>(type); }, kCpu, kCuda};
  benchmark.check_steps = 3;
  benchmark.estimate = estimate;
  return benchmark;
}

bench::Benchmark bfloat16() {
  bench::Benchmark benchmark = precisionmixed(torch::kBFloat16);
  benchmark.name = "precisionmixed";
  benchmark.purpose = "float32; autocast to bfloat16";
  benchmark.least_ratio_cpu = examples::has_bfloat16_tiles() ? 1.3 : 0;
  benchmark.least_ratio_cuda = 1.5;
  return benchmark;
}

bench::Benchmark float16() {
  bench::Benchmark benchmark = precisionmixed(torch::kHalf);
  benchmark.name = "precisionmixed_fp16";
  benchmark.purpose = "float32; autocast to float16 with a scaled loss";
  benchmark.informational = true;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(bfloat16()) && bench::add_benchmark(float16());

}  // namespace workloads::precisionmixed
