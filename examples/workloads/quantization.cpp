// SPDX-License-Identifier: MIT
// Linear layers in float; and in int8 by the CPU's quantized engine, which quantizes activations as they come (with one
// scale a tensor) and has packed weights beforehand (with one scale a row).
#include "common/mlp.hpp"

#include <rangefinder/range.hpp>

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <utility>

namespace workloads::quantization {

using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

/// No header declares these operators: they are called by name.
c10::IValue call(const char* name, torch::jit::Stack stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(stack);
  return stack.at(0);
}

class PackedLayer : public examples::LinearLayer {
 public:
  PackedLayer(const torch::Tensor& weight, const torch::Tensor& bias) : weight_bytes_(weight.numel()) {
    const torch::Tensor scales = examples::quantize_rows(weight).scales.squeeze(1).to(torch::kDouble);
    const torch::Tensor zeros = torch::zeros(scales.sizes(), torch::kInt64);
    packed_ =
        call("quantized::linear_prepack", {torch::quantize_per_channel(weight, scales, zeros, 0, torch::kQInt8), bias});
  }

  torch::Tensor forward(const torch::Tensor& x) override {
    const ProfileRange range("matmul");
    // Activations of 7 bits: engines that add pairs of products in 16 bits saturate with 8, which doubled the error
    // here.
    constexpr bool kReduceRange = true;
    return call("quantized::linear_dynamic", {x, packed_, kReduceRange}).toTensor();
  }

  /// int8 elements: what the engine makes of them is not LibTorch's memory.
  std::int64_t weight_bytes() const override { return weight_bytes_; }

 private:
  c10::IValue packed_;
  std::int64_t weight_bytes_;
};

bench::Benchmark quantization() {
  bench::Benchmark benchmark =
      examples::mlp_benchmark([](const torch::Tensor& weight,
                                 const torch::Tensor& bias) { return std::make_unique<PackedLayer>(weight, bias); },
                              /*decode=*/false, 3e-2);
  benchmark.name = "quantization";
  benchmark.purpose = "float layers, int8 by the CPU's quantized engine";
  benchmark.least_ratio_cpu = 1.5;
  // A build without an engine has the operators, and they throw.
  benchmark.skip = [](const bench::Setup&) {
    return std::string(at::globalContext().supportedQEngines().size() > 1 ? "" : "feature_not_built");
  };
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(quantization());

}  // namespace workloads::quantization
