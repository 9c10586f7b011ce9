// SPDX-License-Identifier: MIT
#include "common/residual_blocks.hpp"

#include "common/decoder_parts.hpp"
#include "common/estimates.hpp"

#include <rangefinder/range.hpp>

#include <functional>
#include <numeric>

namespace examples {

std::vector<std::vector<std::int64_t>> block_shapes(std::int64_t width) {
  return {{width}, {width}, {4 * width, width}, {4 * width}, {width, 4 * width}, {width}};
}

std::int64_t block_elements(std::int64_t width) {
  std::int64_t all = 0;
  for (const std::vector<std::int64_t>& shape : block_shapes(width))
    all += std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return all;
}

BlockWeights draw_block(std::int64_t width, torch::Device device) {
  BlockWeights weights;
  for (const std::vector<std::int64_t>& shape : block_shapes(width)) {
    // Nothing is 0 or 1 as it usually begins: a bias or a norm's weight that got lost must show.
    torch::Tensor weight = shape.size() == 2 ? random_weight(shape) : 0.1 * torch::randn(shape);
    if (weights.empty()) weight += 1;
    weights.push_back(weight.to(device));
  }
  return weights;
}

std::vector<BlockWeights> draw_blocks(std::int64_t layers, std::int64_t width, torch::Device device) {
  std::vector<BlockWeights> blocks;
  for (std::int64_t layer = 0; layer < layers; ++layer) blocks.push_back(draw_block(width, device));
  return blocks;
}

torch::Tensor block_forward(const torch::Tensor& x, const BlockWeights& weights) {
  static const rangefinder::RangeName kBlock{"block"};
  const rangefinder::ProfileRange range{kBlock};
  const torch::Tensor normed = torch::layer_norm(x, {x.size(-1)}, weights.at(0), weights.at(1));
  return x +
         torch::linear(torch::gelu(torch::linear(normed, weights.at(2), weights.at(3))), weights.at(4), weights.at(5));
}

double block_training_flops(std::int64_t layers, std::int64_t width, std::int64_t rows) {
  return training_flops(elements({layers, 8, width, width}), static_cast<double>(rows));
}

}  // namespace examples
