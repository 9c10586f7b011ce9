// SPDX-License-Identifier: MIT
#include "common/mlp.hpp"

#include "common/estimates.hpp"

#include <rangefinder/range.hpp>

#include <cmath>
#include <string>

namespace examples {
namespace {

using rangefinder::ProfileRange;

constexpr std::int64_t kLayers = 2;

std::int64_t width_of(const std::string& size, bool decode) {
  if (size == "smoke") return 128;
  if (size == "gpu") return 4096;
  // A single row reads each weight once: these should not fit into a cache, as a model's would not.
  return decode ? 2048 : 1024;
}

std::int64_t rows_of(const std::string& size, bool decode) {
  return decode ? 1 : of_size<std::int64_t>(size, 32, 256, 4096);
}

bench::Estimate estimate_of_mlp(const bench::Setup& setup, bool decode) {
  const std::int64_t width = width_of(setup.size, decode), rows = rows_of(setup.size, decode);
  const double batch = elements({rows, width});
  const double weights = static_cast<double>(kLayers) * linear_elements(width, width);
  bench::Estimate out =
      estimate_of_elements(batch + weights, batch, kFloatBytes, 2.0 * kLayers * batch * static_cast<double>(width));
  out.random_numbers += weights;  // made again for `inputs`
  out.launches = kLayers * 8;
  return out;
}

class FloatLayer : public LinearLayer {
 public:
  FloatLayer(torch::Tensor weight, torch::Tensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}
  torch::Tensor forward(const torch::Tensor& x) override {
    return torch::linear(x.to(weight_.scalar_type()), weight_, bias_);
  }
  std::int64_t weight_bytes() const override { return static_cast<std::int64_t>(weight_.nbytes()); }

 private:
  torch::Tensor weight_, bias_;
};

bench::VariantSpec variant_of(const MakeLayer& layer, bool decode, const bench::Tolerance& tolerance) {
  return {[options = MlpOptions{layer, decode}] { return std::make_unique<Mlp>(options); }, tolerance, tolerance};
}

std::unique_ptr<LinearLayer> bfloat16_layer(const torch::Tensor& weight, const torch::Tensor& bias) {
  return std::make_unique<FloatLayer>(weight.to(torch::kBFloat16), bias.to(torch::kBFloat16));
}

}  // namespace

std::unique_ptr<LinearLayer> float_layer(const torch::Tensor& weight, const torch::Tensor& bias) {
  return std::make_unique<FloatLayer>(weight, bias);
}

QuantizedRows quantize_rows(const torch::Tensor& x) {
  // A row of zeros has any scale.
  const torch::Tensor scales = x.abs().amax(1, true).clamp_min_(1e-12).div_(127);
  return {(x / scales).round_().to(torch::kChar), scales};
}

void Mlp::make() {
  const std::int64_t width = width_of(size(), options_.decode);
  const std::int64_t rows = rows_of(size(), options_.decode);
  in_ = torch::randn({rows, width}).to(device());
  weight_seed_ = static_cast<std::uint64_t>(torch::randint(1 << 30, {1}, torch::kInt64).item<std::int64_t>());
  const torch::NoGradGuard no_grad;
  for (const auto& [weight, bias] : parameters()) layers_.push_back(options_.layer(weight, bias));
}

std::vector<std::pair<torch::Tensor, torch::Tensor>> Mlp::parameters() const {
  auto generator = at::detail::createCPUGenerator(weight_seed_);
  const std::int64_t width = in_.size(1);
  // As LibTorch's own linear layers begin.
  const double bound = 1 / std::sqrt(static_cast<double>(width));
  std::vector<std::pair<torch::Tensor, torch::Tensor>> all;
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    const torch::Tensor weight = torch::empty({width, width}).uniform_(-bound, bound, generator);
    const torch::Tensor bias = torch::empty({width}).uniform_(-bound, bound, generator);
    all.emplace_back(weight.to(device()), bias.to(device()));
  }
  return all;
}

void Mlp::step() {
  const torch::NoGradGuard no_grad;
  torch::Tensor x = in_;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    if (layer > 0) {
      const ProfileRange range("relu");
      x = torch::relu_(x);
    }
    const ProfileRange range("layer." + std::to_string(layer));
    x = layers_[layer]->forward(x);
  }
  out_ = x;
}

bench::Work Mlp::work() {
  bench::Work work;
  work.samples = static_cast<double>(in_.size(0));
  work.flops = 2.0 * kLayers * static_cast<double>(in_.numel()) * static_cast<double>(in_.size(1));
  return work;
}

std::vector<bench::Metric> Mlp::metrics() {
  std::int64_t bytes = 0;
  for (const auto& layer : layers_) bytes += layer->weight_bytes();
  return {{"weight_bytes", static_cast<double>(bytes), bench::MetricKind::kBytes}};
}

std::vector<NamedTensor> Mlp::given() {
  std::vector<NamedTensor> all{{"input", in_}};
  for (const auto& [weight, bias] : parameters()) {
    const std::string layer = " of layer " + std::to_string(all.size() / 2);
    all.push_back({"weight" + layer, weight});
    all.push_back({"bias" + layer, bias});
  }
  return all;
}

bench::Benchmark mlp_benchmark(const MakeLayer& optimized, bool decode, double frobenius) {
  const bench::Tolerance tolerance{.frobenius = frobenius};
  bench::Benchmark benchmark;
  benchmark.baseline = variant_of(float_layer, decode, tolerance);
  benchmark.optimized = variant_of(optimized, decode, tolerance);
  benchmark.estimate = [decode](const bench::Setup& setup) { return estimate_of_mlp(setup, decode); };
  return benchmark;
}

bench::Benchmark beside_bfloat16(bench::Benchmark benchmark, bool decode) {
  benchmark.name += "_bf16";
  benchmark.purpose += ", beside bfloat16";
  benchmark.devices = {"cuda"};
  benchmark.baseline = variant_of(bfloat16_layer, decode, benchmark.baseline.cuda);
  benchmark.least_ratio_cpu = benchmark.least_ratio_cuda = 0;
  return benchmark;
}

}  // namespace examples
