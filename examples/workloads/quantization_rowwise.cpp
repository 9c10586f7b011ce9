// SPDX-License-Identifier: MIT
// Linear layers in float; and as products of int8 rows, with a scale for each row of activations and of weights.
#include "common/mlp.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <utility>

namespace workloads::quantization_rowwise {

using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

class RowwiseLayer : public examples::LinearLayer {
 public:
  RowwiseLayer(const torch::Tensor& weight, torch::Tensor bias)
      : weight_(examples::quantize_rows(weight)), bias_(std::move(bias)) {}

  torch::Tensor forward(const torch::Tensor& x) override {
    examples::QuantizedRows rows;
    {
      const ProfileRange range("quantize");
      rows = examples::quantize_rows(x);
    }
    torch::Tensor sums;
    {
      const ProfileRange range("matmul");
      // int32, exact. Tensor cores take more than 16 rows, and widths that are multiples of 8: all sizes are such.
      sums = at::_int_mm(rows.values, weight_.values.t());
    }
    const ProfileRange range("rescale");
    return sums.to(torch::kFloat).mul_(rows.scales).mul_(weight_.scales.t()).add_(bias_);
  }

  std::int64_t weight_bytes() const override { return static_cast<std::int64_t>(weight_.values.nbytes()); }

 private:
  examples::QuantizedRows weight_;
  torch::Tensor bias_;
};

bench::Benchmark quantization_rowwise() {
  bench::Benchmark benchmark =
      examples::mlp_benchmark([](const torch::Tensor& weight,
                                 const torch::Tensor& bias) { return std::make_unique<RowwiseLayer>(weight, bias); },
                              /*decode=*/false, 3e-2);
  benchmark.name = "quantization_rowwise";
  benchmark.purpose = "float layers, products of int8 rows";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.least_ratio_cpu = 1.5;
  return benchmark;
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(quantization_rowwise()) &&
    bench::add_benchmark(examples::beside_bfloat16(quantization_rowwise(), /*decode=*/false));

}  // namespace workloads::quantization_rowwise
