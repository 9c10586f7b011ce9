// SPDX-License-Identifier: MIT
#include "common/decoder_parts.hpp"

#include <cmath>

namespace examples {

torch::Tensor root_mean_square_norm(const torch::Tensor& x, const torch::Tensor& weight) {
  constexpr double kEpsilon = 1e-6;
  return x * torch::rsqrt(x.square().mean(-1, /*keepdim=*/true) + kEpsilon) * weight;
}

torch::Tensor swiglu(const torch::Tensor& x, const torch::Tensor& gate, const torch::Tensor& up,
                     const torch::Tensor& down) {
  return torch::linear(torch::silu(torch::linear(x, gate)) * torch::linear(x, up), down);
}

Rotary::Rotary(std::int64_t length, std::int64_t width, torch::Device device) {
  const torch::Tensor frequencies = torch::pow(10000.0, torch::arange(0, width, 2, torch::kFloat) / -width);
  const torch::Tensor angles = torch::outer(torch::arange(length, torch::kFloat), frequencies);
  cosines_ = angles.cos().to(device);
  sines_ = angles.sin().to(device);
}

torch::Tensor Rotary::turn(const torch::Tensor& x) const {
  const auto halves = x.chunk(2, -1);
  return torch::cat({halves[0] * cosines_ - halves[1] * sines_, halves[1] * cosines_ + halves[0] * sines_}, -1);
}

torch::Tensor random_weight(at::IntArrayRef shape) {
  return torch::randn(shape) / std::sqrt(static_cast<double>(shape.back()));
}

}  // namespace examples
