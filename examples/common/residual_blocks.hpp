// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace examples {

/// Weights of a block, in this order: norm's weight and bias, the wide layer's weight and bias, the narrow layer's.
using BlockWeights = std::vector<torch::Tensor>;

/// Their shapes; the wide layer has four times the width.
std::vector<std::vector<std::int64_t>> block_shapes(std::int64_t width);
/// Elements of all of them.
std::int64_t block_elements(std::int64_t width);

/// Drawn from LibTorch's generator on the host, then moved.
BlockWeights draw_block(std::int64_t width, torch::Device device);
/// So many blocks, one after the other.
std::vector<BlockWeights> draw_blocks(std::int64_t layers, std::int64_t width, torch::Device device);

/// x + narrow(gelu(wide(norm(x)))), in the range "block".
torch::Tensor block_forward(const torch::Tensor& x, const BlockWeights& weights);

/// FLOPs of a training step of so many blocks on so many rows.
double block_training_flops(std::int64_t layers, std::int64_t width, std::int64_t rows);

}  // namespace examples
