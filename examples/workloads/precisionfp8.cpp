// SPDX-License-Identifier: MIT
// The same updates of a feed-forward net with products in bfloat16 (on a CPU in float32), and in float8: tensor cores
// multiply twice as many of those. Weights stay float32. On a CPU float8 products are an emulation, checked like any
// other and slower.
#include "common/estimates.hpp"
#include "common/float8_linear.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace workloads::precisionfp8 {

using examples::Float8Recipe;
using examples::Format;
using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t rows, width, hidden;
};

struct Kind {
  Sizes smoke, cpu, gpu;
  Float8Recipe recipe = Float8Recipe::kDelayed;
  std::int64_t history = 16;
  bool beside_float32 = false;  ///< on a GPU, too

  Sizes sizes(const std::string& size) const { return examples::of_size(size, smoke, cpu, gpu); }
};

double weights_of(const Sizes& sizes) { return 2 * examples::elements({sizes.width, sizes.hidden}); }

double flops_of(const Sizes& sizes) {
  return examples::training_flops(weights_of(sizes), static_cast<double>(sizes.rows), weights_of(sizes) / 2);
}

bench::Estimate estimate(const Kind& kind, const bench::Setup& setup) {
  const Sizes sizes = kind.sizes(setup.size);
  const double weights = weights_of(sizes), batch = examples::elements({sizes.rows, sizes.width});
  bench::Estimate out = examples::estimate_of_elements(2 * batch + weights, batch + 1 + 2 * weights,
                                                       examples::kFloatBytes, flops_of(sizes));
  out.launches = 120;  // most of them cast
  out.half = setup.device == "cuda" && !kind.beside_float32;
  return out;
}

class Training : public examples::TensorVariant {
 public:
  Training(Kind kind, bool float8) : kind_(std::move(kind)), float8_(float8) {}

  void step() override {
    optimizer_->zero_grad(/*set_to_none=*/false);
    {
      const ProfileRange range("forward");
      out_ = layer(1, torch::gelu(layer(0, data_))).to(torch::kFloat);
      loss_ = torch::mse_loss(out_, target_);
    }
    {
      const ProfileRange range("backward");
      loss_.backward();
    }
    const ProfileRange range("optimizer");
    optimizer_->step();
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(data_.size(0));
    work.flops = flops_of(kind_.sizes(size()));
    const bool tensor_cores = float8_ && device().is_cuda();
    work.flops_type = examples::flops_type_of(tensor_cores ? torch::kFloat8_e4m3fn : type_);
    return work;
  }

 private:
  torch::Tensor layer(std::size_t index, const torch::Tensor& x) {
    const ProfileRange range("layer." + std::to_string(index));
    if (float8_) return examples::float8_linear(x, weights_[index], states_[index], type_);
    return torch::linear(x.to(type_), weights_[index].to(type_));
  }

  void make() override {
    const Sizes sizes = kind_.sizes(size());
    type_ = device().is_cuda() && (float8_ || !kind_.beside_float32) ? torch::kBFloat16 : torch::kFloat;
    const auto weight = [&](std::int64_t inputs, std::int64_t outputs) {
      const double bound = 1 / std::sqrt(static_cast<double>(inputs));
      torch::Tensor made = torch::empty({outputs, inputs}).uniform_(-bound, bound).to(device()).requires_grad_();
      made.mutable_grad() = torch::zeros_like(made);
      weights_.push_back(made);
      if (float8_) states_.push_back(c10::make_intrusive<examples::Float8State>(kind_.recipe, kind_.history, device()));
    };
    weight(sizes.width, sizes.hidden);
    weight(sizes.hidden, sizes.width);
    // Gradients of a mean over all elements are small: with this factor an update moves weights by some percent.
    optimizer_.emplace(weights_, torch::optim::SGDOptions(static_cast<double>(sizes.width) / 32));
    data_ = torch::randn({sizes.rows, sizes.width}).to(device());
    target_ = torch::randn({sizes.rows, sizes.width}).to(device());
  }
  std::vector<NamedTensor> given() override {
    return {{"data", data_}, {"target", target_}, {"weight 0", weights_[0]}, {"weight 1", weights_[1]}};
  }
  std::vector<NamedTensor> results() override {
    return {{"output", out_},
            {"loss", loss_},
            {"gradient of weight 0", weights_[0].grad()},
            {"gradient of weight 1", weights_[1].grad()},
            {"weight 0", weights_[0]},
            {"weight 1", weights_[1]}};
  }

  Kind kind_;
  bool float8_;
  torch::ScalarType type_ = torch::kFloat;
  std::vector<torch::Tensor> weights_;
  std::vector<c10::intrusive_ptr<examples::Float8State>> states_;
  std::optional<torch::optim::SGD> optimizer_;
  torch::Tensor data_, target_, out_, loss_;
};

bench::Benchmark training(const std::string& name, const Kind& kind) {
  bench::Benchmark benchmark;
  benchmark.name = name;
  benchmark.devices = {"cpu", "cuda"};
  // The gradient of the first layer comes through two products with rounded gradients. Other outputs are closer.
  const bool delayed = kind.recipe == Float8Recipe::kDelayed;
  const double error = examples::product_error_bound(delayed ? Format::kE5m2 : Format::kE4m3, Format::kE4m3);
  const bench::Tolerance tolerance{.frobenius = error * std::sqrt(2)};
  benchmark.baseline = {[kind] { return std::make_unique<Training>(kind, false); }, tolerance, tolerance};
  benchmark.optimized = {[kind] { return std::make_unique<Training>(kind, true); }, tolerance, tolerance};
  benchmark.check_steps = 3;
  benchmark.check_size = "cpu";  // at size gpu weights and gradients take gigabytes
  benchmark.estimate = [kind](const bench::Setup& setup) { return estimate(kind, setup); };
  benchmark.informational = true;  // no GPU has said yet how much of the gain casts take back
  benchmark.skip = [delayed](const bench::Setup& setup) {
    return examples::float8_skip(setup, delayed ? examples::Scales::kOfTensor : examples::Scales::kOfRows);
  };
  return benchmark;
}

constexpr Sizes kSmoke{32, 64, 128}, kCpu{256, 256, 1024}, kGpu{8192, 4096, 16384};

bench::Benchmark delayed() {
  bench::Benchmark benchmark = training("precisionfp8", {kSmoke, kCpu, kGpu});
  benchmark.purpose = "products in bfloat16, in float8 with delayed scales";
  return benchmark;
}

bench::Benchmark rows(const std::string& name, Float8Recipe recipe) {
  bench::Benchmark benchmark = training(name, {kSmoke, kCpu, kGpu, recipe});
  benchmark.purpose = recipe == Float8Recipe::kRows
                          ? "products in bfloat16, in float8 with a scale for each row"
                          : "products in bfloat16, in float8 by rows except for gradients of weights";
  return benchmark;
}

bench::Benchmark small_batch() {
  bench::Benchmark benchmark =
      training("precisionfp8_te", {{16, 64, 128}, {64, 256, 1024}, {256, 4096, 16384}, Float8Recipe::kDelayed, 1024});
  benchmark.purpose = "products in bfloat16, in float8 by Transformer Engine's recipe, with a small batch";
  return benchmark;
}

bench::Benchmark padded() {
  Kind kind{{32, 64, 72}, {256, 256, 520}, {2048, 8192, 8200}};
  kind.beside_float32 = true;
  bench::Benchmark benchmark = training("precisionfp8_pad_inner", kind);
  benchmark.purpose = "products in float32, in float8 with a hidden width that is padded";
  return benchmark;
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(delayed()) && bench::add_benchmark(rows("precisionfp8_rowwise", Float8Recipe::kRows)) &&
    bench::add_benchmark(rows("precisionfp8_rowwise_gw_hp", Float8Recipe::kRowsExactWeights)) &&
    bench::add_benchmark(small_batch()) && bench::add_benchmark(padded());

}  // namespace workloads::precisionfp8
