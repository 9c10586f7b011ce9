// SPDX-License-Identifier: MIT
#include "common/block_scales.hpp"

#include "common/low_precision.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace examples {
namespace {

constexpr float kLeastScale = std::numeric_limits<float>::min();
constexpr std::int64_t kE8m0Bias = 127;

/// [rows, blocks, block]
torch::Tensor blocks_of(const torch::Tensor& x, BlockFormat format) {
  const std::int64_t block = block_of(format);
  if (x.dim() != 2 || x.size(1) % block != 0)
    throw std::invalid_argument("rows must be whole blocks of " + std::to_string(block));
  return x.detach().to(torch::kFloat).view({x.size(0), -1, block});
}

BlockScaled quantize_mxfp8(const torch::Tensor& x) {
  const torch::Tensor blocks = blocks_of(x, BlockFormat::kMxfp8);
  const torch::Tensor bytes = to_e8m0(divided(blocks.abs().amax(-1), largest(Format::kE4m3)));
  const torch::Tensor elements = to_float8(blocks, from_e8m0(bytes).unsqueeze(-1), Format::kE4m3).values;
  return {BlockFormat::kMxfp8, elements.view(x.sizes()), bytes, {}};
}

BlockScaled quantize_nvfp4(const torch::Tensor& x) {
  const torch::Tensor blocks = blocks_of(x, BlockFormat::kNvfp4);
  const torch::Tensor amax = blocks.abs().amax(-1);
  // The largest block's scale is then the largest e4m3.
  const torch::Tensor scale =
      divided(amax.amax().view({1}), largest(Format::kE2m1) * largest(Format::kE4m3)).clamp_min_(kLeastScale);
  const torch::Tensor scales = to_float8(divided(amax, largest(Format::kE2m1)), scale, Format::kE4m3).values;
  // Elements are divided by the scale as it was rounded, so that its rounding is no error of theirs. Where it became
  // zero, so do they.
  const torch::Tensor steps = scales.to(torch::kFloat).mul_(scale).clamp_min_(kLeastScale);
  const torch::Tensor codes = to_float4(blocks / steps.unsqueeze(-1)).view(x.sizes());
  return {BlockFormat::kNvfp4, pack_float4(codes), scales, scale};
}

}  // namespace

std::int64_t block_of(BlockFormat format) { return format == BlockFormat::kMxfp8 ? 32 : 16; }

std::int64_t BlockScaled::bytes() const {
  return static_cast<std::int64_t>(elements.nbytes() + scales.nbytes() + (scale.defined() ? scale.nbytes() : 0));
}

BlockScaled BlockScaled::rows(std::int64_t first, std::int64_t count) const {
  return {format, elements.narrow(0, first, count), scales.narrow(0, first, count), scale};
}

BlockScaled quantize_blocks(const torch::Tensor& x, BlockFormat format) {
  return format == BlockFormat::kMxfp8 ? quantize_mxfp8(x) : quantize_nvfp4(x);
}

torch::Tensor dequantize(const BlockScaled& x) {
  const bool four = x.format == BlockFormat::kNvfp4;
  const torch::Tensor elements = four ? from_float4(unpack_float4(x.elements)) : x.elements.to(torch::kFloat);
  const torch::Tensor scales = four ? x.scales.to(torch::kFloat).mul_(x.scale) : from_e8m0(x.scales);
  return elements.view({elements.size(0), -1, block_of(x.format)}).mul_(scales.unsqueeze(-1)).view(elements.sizes());
}

torch::Tensor to_float4(const torch::Tensor& x) {
  // Half-way points between 0, 0.5, 1, 1.5, 2, 3, 4 and 6. What lies on one goes to the even code: where that is the
  // upper one, the boundary is just below.
  const auto below = [](float value) { return std::nextafter(value, 0.0F); };
  const torch::Tensor boundaries =
      torch::tensor({0.25F, below(0.75F), 1.25F, below(1.75F), 2.5F, below(3.5F), 5.0F}).to(x.device());
  const torch::Tensor codes = at::bucketize(x.abs(), boundaries, /*out_int32=*/true).to(torch::kByte);
  return codes.add_(torch::signbit(x).to(torch::kByte), 8);
}

torch::Tensor from_float4(const torch::Tensor& codes) {
  const torch::Tensor values =
      torch::tensor({0.F, .5F, 1.F, 1.5F, 2.F, 3.F, 4.F, 6.F, -0.F, -.5F, -1.F, -1.5F, -2.F, -3.F, -4.F, -6.F})
          .to(codes.device());
  return values.index_select(0, codes.view({-1}).to(torch::kInt)).view(codes.sizes());
}

torch::Tensor pack_float4(const torch::Tensor& codes) {
  const torch::Tensor pairs = codes.unflatten(-1, {-1, 2});
  return pairs.select(-1, 0) + pairs.select(-1, 1) * 16;
}

torch::Tensor unpack_float4(const torch::Tensor& bytes) {
  return torch::stack({bytes.bitwise_and(15), bytes.bitwise_right_shift(4)}, -1).flatten(-2);
}

torch::Tensor to_e8m0(const torch::Tensor& x) {
  const auto [mantissa, exponent] = at::frexp(x);  // a mantissa from 0.5 to 1: only of a power of two it is 0.5
  const torch::Tensor least = exponent - mantissa.eq(0.5).to(torch::kInt);
  return (least + kE8m0Bias).clamp_(0, 2 * kE8m0Bias).masked_fill_(x.isfinite().logical_not_(), 255).to(torch::kByte);
}

torch::Tensor from_e8m0(const torch::Tensor& bytes) { return bytes.view(torch::kFloat8_e8m0fnu).to(torch::kFloat); }

}  // namespace examples
