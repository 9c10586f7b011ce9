// SPDX-License-Identifier: MIT
// Updates of a net so small that they cost what calling operators costs: by autograd and an optimizer; and forward,
// backward and update traced to one function that was compiled ahead of time.
#include "common/packaged_training.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace workloads::autograd_standard_aot {

namespace bench = rangefinder::bench;
using torch::Tensor;

/// The nets of autograd_standard.
examples::TrainedFunction two_layers(const std::string& size) {
  struct Sizes {
    std::int64_t updates, batch, width, inner;
  };
  const Sizes sizes = size == "smoke" ? Sizes{5, 8, 32, 64}
                      : size == "gpu" ? Sizes{20, 16, 1024, 2048}
                                      : Sizes{100, 8, 32, 64};
  const double up = 1 / std::sqrt(static_cast<double>(sizes.width)),
               down = 1 / std::sqrt(static_cast<double>(sizes.inner));
  examples::TrainedFunction function;
  function.kind = "mlp_step";
  function.sizes = {{"batch", sizes.batch}, {"width", sizes.width}, {"inner", sizes.inner}};
  function.batch = sizes.batch;
  function.width = sizes.width;
  function.batches.assign(static_cast<std::size_t>(sizes.updates), sizes.batch);
  function.weights = {{"up.weight", {sizes.inner, sizes.width}, 0, up},
                      {"up.bias", {sizes.inner}, 0, up},
                      {"down.weight", {sizes.width, sizes.inner}, 0, down},
                      {"down.bias", {sizes.width}, 0, down}};
  function.forward = [](const Tensor& x, const std::vector<Tensor>& weights) {
    return torch::linear(torch::relu(torch::linear(x, weights[0], weights[1])), weights[2], weights[3]);
  };
  return function;
}

bench::Benchmark autograd_standard_aot() {
  bench::Benchmark benchmark = examples::packaged_training_benchmark(
      two_layers, "mlp_step", [] { return std::make_unique<examples::PackagedTraining>(two_layers); });
  benchmark.name = "autograd_standard_aot";
  benchmark.purpose = "autograd and SGD; forward, backward and update as one compiled package";
  benchmark.informational = true;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(autograd_standard_aot());

}  // namespace workloads::autograd_standard_aot
