// SPDX-License-Identifier: MIT
#pragma once

#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

// The transformer block of export_packages.py: its weights are arguments of its package.
namespace examples {

/// In the order of the compiled function's arguments.
using BlockWeights = std::vector<torch::Tensor>;
constexpr const char* kBlockWeightNames[] = {"norm1.weight", "norm1.bias", "qkv.weight",   "qkv.bias",
                                             "out.weight",   "out.bias",   "norm2.weight", "norm2.bias",
                                             "up.weight",    "up.bias",    "down.weight",  "down.bias"};

/// What packages compute in: bfloat16 on a GPU.
inline torch::ScalarType package_type_on(torch::DeviceType device) {
  return device == torch::kCUDA ? torch::kBFloat16 : torch::kFloat;
}

inline double block_weight_elements(std::int64_t width, std::int64_t inner) {
  return 4 * static_cast<double>(width) + linear_elements(width, 3 * width) + linear_elements(width, width) +
         linear_elements(width, inner) + linear_elements(inner, width);
}

/// Drawn on the host, by LibTorch's default generator.
inline std::vector<BlockWeights> make_block_weights(std::int64_t layers, std::int64_t width, std::int64_t inner,
                                                    const torch::TensorOptions& options) {
  const auto linear = [&](std::int64_t out, std::int64_t in) {
    return (torch::randn({out, in}) / std::sqrt(static_cast<double>(in))).to(options);
  };
  const auto vector = [&](std::int64_t length, double mean) {
    return (mean + 0.1 * torch::randn({length})).to(options);
  };
  std::vector<BlockWeights> all;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    all.push_back({vector(width, 1), vector(width, 0), linear(3 * width, width), vector(3 * width, 0),
                   linear(width, width), vector(width, 0), vector(width, 1), vector(width, 0), linear(inner, width),
                   vector(inner, 0), linear(width, inner), vector(width, 0)});
  return all;
}

/// Adds them as "layers.0.norm1.weight" and so on.
inline void add_block_weights(std::vector<NamedTensor>& to, const std::vector<BlockWeights>& layers) {
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (std::size_t i = 0; i < std::size(kBlockWeightNames); ++i)
      to.push_back({"layers." + std::to_string(layer) + "." + kBlockWeightNames[i], layers[layer][i]});
  }
}

}  // namespace examples
