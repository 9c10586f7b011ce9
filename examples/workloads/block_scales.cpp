// SPDX-License-Identifier: MIT
// A row through linear layers, as in decoding: weights as float32; and as MXFP8 or NVFP4 stores them, emulated. Bytes
// and rounding are those of the formats. The time is that of the emulation, which widens some rows at a time.
#include "common/block_scales.hpp"

#include "common/low_precision.hpp"
#include "common/mlp.hpp"

#include <rangefinder/range.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

namespace workloads::block_scales {

using examples::BlockFormat;
using examples::Format;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr std::int64_t kRowsAtOnce = 64;

class EmulatedLayer : public examples::LinearLayer {
 public:
  EmulatedLayer(const torch::Tensor& weight, torch::Tensor bias, BlockFormat format)
      : weight_(examples::quantize_blocks(weight, format)), bias_(std::move(bias)) {}

  torch::Tensor forward(const torch::Tensor& x) override {
    torch::Tensor rounded;
    {
      const ProfileRange range("quantize");
      rounded = examples::dequantize(examples::quantize_blocks(x, weight_.format));
    }
    const ProfileRange range("emulated product");
    torch::Tensor out = torch::empty({x.size(0), bias_.size(0)}, x.options());
    for (std::int64_t first = 0; first < bias_.size(0); first += kRowsAtOnce) {
      const std::int64_t count = std::min(kRowsAtOnce, bias_.size(0) - first);
      const torch::Tensor weight = examples::dequantize(weight_.rows(first, count));
      out.narrow(1, first, count).copy_(at::linear(rounded, weight, bias_.narrow(0, first, count)));
    }
    return out;
  }

  std::int64_t weight_bytes() const override { return static_cast<std::int64_t>(weight_.elements.nbytes()); }

 private:
  examples::BlockScaled weight_;
  torch::Tensor bias_;
};

bench::Benchmark block_scales(BlockFormat format, double error) {
  bench::Benchmark benchmark = examples::mlp_benchmark(
      [format](const torch::Tensor& weight, const torch::Tensor& bias) {
        return std::make_unique<EmulatedLayer>(weight, bias, format);
      },
      /*decode=*/true, error);
  benchmark.goal = bench::Goal::kMemory;
  benchmark.devices = {"cpu", "cuda"};
  benchmark.time_bound = 1000;  // nothing is promised of an emulation's time
  return benchmark;
}

bench::Benchmark mxfp8() {
  // Errors of two layers.
  const double error = examples::product_error_bound(Format::kE4m3, Format::kE4m3) * std::sqrt(2);
  bench::Benchmark benchmark = block_scales(BlockFormat::kMxfp8, error);
  benchmark.name = "mxfp8_block_scales";
  benchmark.purpose = "weights of a decoded row in float32, in MXFP8 (emulated)";
  benchmark.least_ratio_cpu = 3;
  return benchmark;
}

bench::Benchmark nvfp4() {
  // A product comes to 0.13 (docs/reference/low-precision.md). What the format allows, 0.2, would hide a scale that is
  // wrong by a fifth.
  const double error = 0.15 * std::sqrt(2);
  bench::Benchmark benchmark = block_scales(BlockFormat::kNvfp4, error);
  benchmark.name = "nvfp4_block_scales";
  benchmark.purpose = "weights of a decoded row in float32, in NVFP4 (emulated)";
  benchmark.least_ratio_cpu = 5;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(mxfp8()) && bench::add_benchmark(nvfp4());

}  // namespace workloads::block_scales
