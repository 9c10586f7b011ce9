// SPDX-License-Identifier: MIT
#pragma once

#include "common/tensor_variant.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace examples {

/// A linear layer as one way of keeping its weights has it.
class LinearLayer {
 public:
  virtual ~LinearLayer() = default;
  /// float to float.
  virtual torch::Tensor forward(const torch::Tensor& x) = 0;
  /// Of weights, without scales and bias.
  virtual std::int64_t weight_bytes() const = 0;
};

/// Makes a layer of float weights, [outputs, inputs], and a bias: packs them where that is the layer's way. Part of
/// set-up, as a model is quantized once.
using MakeLayer = std::function<std::unique_ptr<LinearLayer>(const torch::Tensor& weight, const torch::Tensor& bias)>;

std::unique_ptr<LinearLayer> float_layer(const torch::Tensor& weight, const torch::Tensor& bias);

/// The int8 nearest to each element, and a scale for each row so that its largest element is 127.
struct QuantizedRows {
  torch::Tensor values;  ///< int8
  torch::Tensor scales;  ///< [rows, 1]
};
QuantizedRows quantize_rows(const torch::Tensor& x);

struct MlpOptions {
  MakeLayer layer;
  bool decode = false;  ///< a single row, as when tokens are decoded one by one; else a batch
};

/// Two square linear layers with ReLU between, without gradients.
class Mlp : public TensorVariant {
 public:
  explicit Mlp(MlpOptions options) : options_(std::move(options)) {}
  void step() override;
  bench::Work work() override;
  std::vector<bench::Metric> metrics() override;

 private:
  void make() override;
  std::vector<NamedTensor> given() override;
  std::vector<NamedTensor> results() override { return {{"output", out_.to(torch::kFloat)}}; }
  /// The float weights, which packed layers do not keep: made again, from the same seed, for who asks.
  std::vector<std::pair<torch::Tensor, torch::Tensor>> parameters() const;

  MlpOptions options_;
  std::uint64_t weight_seed_ = 0;
  std::vector<std::unique_ptr<LinearLayer>> layers_;
  torch::Tensor in_, out_;
};

/// A benchmark of float layers and others; `frobenius` is how far outputs may be from each other, |a - b| / |b|.
bench::Benchmark mlp_benchmark(const MakeLayer& optimized, bool decode, double frobenius);

/// The same beside layers in bfloat16, which is what a GPU would be given: on CUDA devices, without a promise.
bench::Benchmark beside_bfloat16(bench::Benchmark benchmark, bool decode);

}  // namespace examples
