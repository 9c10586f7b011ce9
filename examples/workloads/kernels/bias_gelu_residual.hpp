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

/// The same in double precision, element by element, by std::erf.
void bias_gelu_residual(const double* x, const double* bias, const double* residual, double* out, Shape shape) noexcept;
void bias_gelu_residual_backward(const double* gradient, const double* x, const double* bias, double* gradient_x,
                                 double* gradient_bias, Shape shape) noexcept;

}  // namespace examples::kernels
