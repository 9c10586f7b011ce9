// SPDX-License-Identifier: MIT
// A stack of linear layers, each with a norm and GELU, trained by autograd; and with forward, backward and update as
// one compiled package where a batch has the size that it was compiled for. The last batch has not: it takes the eager
// way. Between the two: the forward pass alone compiled, the backward pass by operators.
#include "common/packaged_training.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace workloads::compiled_autograd {

namespace bench = rangefinder::bench;
using torch::Tensor;

examples::TrainedFunction stack(const std::string& size) {
  struct Sizes {
    std::int64_t updates, batch, width, layers;
  };
  const Sizes sizes = size == "smoke" ? Sizes{3, 8, 32, 2}
                      : size == "gpu" ? Sizes{5, 512, 4096, 4}
                                      : Sizes{6, 64, 256, 8};
  examples::TrainedFunction function;
  function.kind = "stack_step";
  function.sizes = {{"batch", sizes.batch}, {"width", sizes.width}, {"layers", sizes.layers}};
  function.batch = sizes.batch;
  function.width = sizes.width;
  function.batches.assign(static_cast<std::size_t>(sizes.updates), sizes.batch);
  function.batches.back() = sizes.batch / 2;
  const double deviation = 1 / std::sqrt(static_cast<double>(sizes.width));
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer) {
    const std::string name = "layers." + std::to_string(layer) + ".";
    function.weights.push_back({name + "weight", {sizes.width, sizes.width}, 0, deviation});
    function.weights.push_back({name + "bias", {sizes.width}, 0, deviation});
    function.weights.push_back({name + "norm.weight", {sizes.width}, 1, 0.1});
    function.weights.push_back({name + "norm.bias", {sizes.width}, 0, 0.1});
  }
  function.forward = [](const Tensor& x, const std::vector<Tensor>& weights) {
    Tensor out = x;
    for (std::size_t i = 0; i < weights.size(); i += 4) {
      const Tensor linear = torch::linear(out, weights[i], weights[i + 1]);
      out = torch::gelu(torch::layer_norm(linear, weights[i + 3].sizes(), weights[i + 2], weights[i + 3]));
    }
    return out;
  };
  return function;
}

/// The forward pass as a package, a node of autograd like any other.
struct CompiledForward : torch::autograd::Function<CompiledForward> {
  using Context = torch::autograd::AutogradContext;

  static Tensor forward(Context* context, const Tensor& x, at::TensorList weights, examples::Package* package) {
    std::vector<Tensor> all{x};
    for (const Tensor& weight : weights) all.push_back(weight.detach());
    std::vector<Tensor> kept = package->run(all);
    Tensor output = kept.back();
    kept.pop_back();
    all.insert(all.end(), kept.begin(), kept.end());
    context->save_for_backward(std::move(all));
    context->saved_data["weights"] = static_cast<std::int64_t>(weights.size());
    return output;
  }

  static torch::autograd::variable_list backward(Context* context, const torch::autograd::variable_list& gradients) {
    const auto weights = static_cast<std::size_t>(context->saved_data["weights"].toInt());
    const std::vector<Tensor> saved = context->get_saved_variables();  // x, weights, then five of each layer
    torch::autograd::variable_list out(1 + weights + 1);               // x and the package have none
    Tensor gradient = gradients[0];
    for (std::size_t layer = weights / 4; layer-- > 0;) {
      const Tensor *weight = &saved[1 + 4 * layer], *kept = &saved[1 + weights + 5 * layer];
      const Tensor& x = layer > 0 ? kept[-1] : saved[0];
      const Tensor of_norm = at::gelu_backward(gradient, kept[1]);
      const auto [of_linear, of_norm_weight, of_norm_bias] = at::native_layer_norm_backward(
          of_norm, kept[0], weight[3].sizes(), kept[2], kept[3], weight[2], weight[3], {true, true, true});
      Tensor* const of = &out[1 + 4 * layer];
      of[0] = torch::mm(of_linear.t(), x);
      of[1] = of_linear.sum(0);
      of[2] = of_norm_weight;
      of[3] = of_norm_bias;
      if (layer > 0) gradient = torch::mm(of_linear, weight[0]);
    }
    return out;
  }
};

class ForwardCaptured : public examples::EagerTraining {
 public:
  ForwardCaptured() : EagerTraining(stack) {}

 private:
  void make() override {
    EagerTraining::make();
    const torch::DeviceType type = device().type();
    package_.emplace(examples::get_packages(size(), type, {package_of(function(), "stack_forward", type)}).front());
  }
  Tensor forward(const Tensor& x) override {
    if (x.size(0) != function().batch) return EagerTraining::forward(x);
    return CompiledForward::apply(x, at::TensorList(weights()), &*package_);
  }
  std::optional<examples::Package> package_;
};

/// Eight layers, each of which divides by a deviation, and several updates: orders of sums show more than in two
/// layers.
bench::Benchmark stack_benchmark(const std::string& package,
                                 std::function<std::unique_ptr<bench::Variant>()> optimized) {
  bench::Benchmark benchmark = examples::packaged_training_benchmark(stack, package, std::move(optimized));
  benchmark.baseline.cpu = benchmark.optimized.cpu = {1e-4, 1e-5};
  benchmark.informational = true;
  return benchmark;
}

bench::Benchmark compiled_autograd() {
  bench::Benchmark benchmark =
      stack_benchmark("stack_step", [] { return std::make_unique<examples::PackagedTraining>(stack); });
  benchmark.name = "compiled_autograd";
  benchmark.purpose = "autograd and SGD; whole updates compiled, batches of other sizes fall back";
  return benchmark;
}

bench::Benchmark compiled_autograd_forward() {
  bench::Benchmark benchmark = stack_benchmark("stack_forward", [] { return std::make_unique<ForwardCaptured>(); });
  benchmark.name = "compiled_autograd_forward";
  benchmark.purpose = "autograd and SGD; the forward pass compiled, the backward pass by operators";
  return benchmark;
}

[[maybe_unused]] const bool kForwardAdded = bench::add_benchmark(compiled_autograd_forward());
[[maybe_unused]] const bool kAdded = bench::add_benchmark(compiled_autograd());

}  // namespace workloads::compiled_autograd
