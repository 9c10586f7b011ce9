// SPDX-License-Identifier: MIT
// A row through linear layers, as in decoding: weights as float; and as int4 in groups of 32 with a scale and a zero
// each, which are a fifth of the bytes.
#include "common/mlp.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <utility>

namespace workloads::torchao_quantization_int4 {

using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr std::int64_t kGroup = 32;

class Int4Weights : public examples::LinearLayer {
 public:
  Int4Weights(const torch::Tensor& weight, torch::Tensor bias) : bias_(std::move(bias)) {
    const std::int64_t rows = weight.size(0);
    const torch::Tensor groups = weight.view({rows, -1, kGroup});
    const torch::Tensor least = groups.amin(-1, true), most = groups.amax(-1, true);
    // The kernel knows them as bfloat16: what is rounded away must not be lost twice.
    const auto rounded = [](const torch::Tensor& x) { return x.to(torch::kBFloat16).to(torch::kFloat); };
    const torch::Tensor scale = rounded(((most - least) / 15).clamp_min_(1e-12));
    const torch::Tensor zero = rounded(least + scale * 8);  // what the value 8 stands for
    const torch::Tensor values = ((groups - zero) / scale + 8).round_().clamp_(0, 15).to(torch::kInt);
    values_ = at::_convert_weight_to_int4pack_for_cpu(values.view(weight.sizes()), /*innerKTiles=*/1);
    scale_and_zero_ = torch::cat({scale, zero}, -1).transpose(0, 1).contiguous().to(torch::kBFloat16);
  }

  torch::Tensor forward(const torch::Tensor& x) override {
    const ProfileRange range("matmul");
    return at::_weight_int4pack_mm_for_cpu(x.to(torch::kBFloat16), values_, kGroup, scale_and_zero_)
        .to(torch::kFloat)
        .add_(bias_);
  }

  std::int64_t weight_bytes() const override { return static_cast<std::int64_t>(values_.nbytes()); }

 private:
  torch::Tensor values_, scale_and_zero_, bias_;
};

bench::Benchmark torchao_quantization_int4() {
  bench::Benchmark benchmark =
      examples::mlp_benchmark([](const torch::Tensor& weight,
                                 const torch::Tensor& bias) { return std::make_unique<Int4Weights>(weight, bias); },
                              /*decode=*/true, 1e-1);
  benchmark.name = "torchao_quantization_int4";
  benchmark.purpose = "weights of a decoded row in float, in int4";
  benchmark.goal = bench::Goal::kMemory;
  benchmark.least_ratio_cpu = 5;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(torchao_quantization_int4());

}  // namespace workloads::torchao_quantization_int4
