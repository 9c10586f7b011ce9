// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace examples {

/// x by its root mean square, times `weight`: as five operators.
torch::Tensor root_mean_square_norm(const torch::Tensor& x, const torch::Tensor& weight);

/// down(silu(gate x) * (up x)); weights are [out, in].
torch::Tensor swiglu(const torch::Tensor& x, const torch::Tensor& gate, const torch::Tensor& up,
                     const torch::Tensor& down);

/// Rotary positions: pairs of elements turn by an angle that grows with the position.
class Rotary {
 public:
  Rotary() = default;
  Rotary(std::int64_t length, std::int64_t width, torch::Device device);
  /// x [..., length, width]
  torch::Tensor turn(const torch::Tensor& x) const;

 private:
  torch::Tensor cosines_, sines_;  // [length, width / 2]
};

/// A weight [out..., in], normal, of such size that outputs are as large as inputs.
torch::Tensor random_weight(at::IntArrayRef shape);

}  // namespace examples
