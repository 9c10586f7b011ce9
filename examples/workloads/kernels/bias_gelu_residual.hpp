// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// gelu(x + bias) + residual and its gradients, each in one pass over memory. Free of LibTorch, which takes long to
// compile and which not every compiler of kernels takes.
namespace examples::kernels {

/// Row-major matrices of the same shape, contiguous; a bias has an element a column. GELU is the exact one, by erf.
struct Shape {
  std::int64_t rows, width;
};

void bias_gelu_residual(const float* x, const float* bias, const float* residual, float* out, Shape shape) noexcept;

/// `gradient_bias` is added to: it begins as zeros.
void bias_gelu_residual_backward(const float* gradient, const float* x, const float* bias, float* gradient_x,
                                 float* gradient_bias, Shape shape) noexcept;

}  // namespace examples::kernels
