// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

namespace examples::kernels {

/// gelu(x + bias) + residual by the operator rangefinder_examples::bias_gelu_residual, with its gradient: of contiguous
/// floats by kernels of our own, of doubles, on a CPU, by the plain formula that those are compared with.
torch::Tensor bias_gelu_residual(const torch::Tensor& x, const torch::Tensor& bias, const torch::Tensor& residual);

}  // namespace examples::kernels
