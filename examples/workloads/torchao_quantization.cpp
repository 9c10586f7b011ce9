// SPDX-License-Identifier: MIT
// A row through linear layers, as in decoding, is bound by the bytes of the weights: as float; and as int8 that the
// kernel widens while it reads.
#include "common/mlp.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <utility>

namespace workloads::torchao_quantization {

using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

class Int8Weights : public examples::LinearLayer {
 public:
  Int8Weights(const torch::Tensor& weight, torch::Tensor bias) : bias_(std::move(bias)) {
    const examples::QuantizedRows rows = examples::quantize_rows(weight);
    values_ = rows.values;
    scales_ = rows.scales.squeeze(1).to(torch::kBFloat16);
  }

  torch::Tensor forward(const torch::Tensor& x) override {
    const ProfileRange range("matmul");
    // bfloat16 activations: float ones take a path without vectors.
    return at::_weight_int8pack_mm(x.to(torch::kBFloat16), values_, scales_).to(torch::kFloat).add_(bias_);
  }

  std::int64_t weight_bytes() const override { return static_cast<std::int64_t>(values_.nbytes()); }

 private:
  torch::Tensor values_, scales_, bias_;
};

bench::Benchmark torchao_quantization() {
  bench::Benchmark benchmark =
      examples::mlp_benchmark([](const torch::Tensor& weight,
                                 const torch::Tensor& bias) { return std::make_unique<Int8Weights>(weight, bias); },
                              /*decode=*/true, 3e-2);
  benchmark.name = "torchao_quantization";
  benchmark.purpose = "weights of a decoded row in float, in int8";
  benchmark.goal = bench::Goal::kMemory;
  benchmark.devices = {"cpu", "cuda"};
  benchmark.least_ratio_cpu = 3.5;
  benchmark.least_ratio_cuda = 3.5;
  return benchmark;
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(torchao_quantization()) &&
    bench::add_benchmark(examples::beside_bfloat16(torchao_quantization(), /*decode=*/true));

}  // namespace workloads::torchao_quantization
