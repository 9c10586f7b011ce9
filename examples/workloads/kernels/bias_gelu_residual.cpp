// SPDX-License-Identifier: MIT
#include "workloads/kernels/bias_gelu_residual.hpp"

#include "workloads/kernels/cpu_target.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

// The loops are plain: the compiler makes vectors of them. It cannot do so with std::erf and std::exp, hence ours.
namespace examples::kernels {
namespace {

/// e to the power of `a`, which is not above 0; to 3e-7 of its value.
EXAMPLES_INLINE float exp_of_negative(float a) {
  // 1.5 * 2^23: what is added to it is rounded to an integer, in its last bits.
  constexpr float kToInteger = 12582912.0F;
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;  // in two parts: n times the first is exact
  a = std::max(a, -87.0F);
  const float shifted = a * 1.44269504F + kToInteger;
  const float n = shifted - kToInteger;
  const float r = (a - n * kLn2High) - n * kLn2Low;
  float series = 1.0F / 720;
  series = series * r + 1.0F / 120;
  series = series * r + 1.0F / 24;
  series = series * r + 1.0F / 6;
  series = series * r + 0.5F;
  series = series * r + 1.0F;
  series = series * r + 1.0F;
  const std::int32_t power = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kToInteger);
  return series * std::bit_cast<float>((power + 127) << 23);
}

struct Normal {
  float below;    ///< share of the normal distribution below u
  float density;  ///< and its density at u
};

/// Abramowitz and Stegun 7.1.26, with the exponential that the density has too: the share to 3e-7.
EXAMPLES_INLINE Normal normal(float u) {
  const float size = u < 0 ? -u : u;
  const float power = exp_of_negative(-0.5F * u * u);
  const float t = 1.0F / (1.0F + 0.3275911F * 0.707106781F * size);
  float tail = 1.061405429F;
  tail = tail * t - 1.453152027F;
  tail = tail * t + 1.421413741F;
  tail = tail * t - 0.284496736F;
  tail = tail * t + 0.254829592F;
  tail = 0.5F * tail * t * power;
  return {u < 0 ? tail : 1.0F - tail, 0.398942280F * power};
}

EXAMPLES_INLINE void forward(const float* __restrict x, const float* __restrict bias, const float* __restrict residual,
                             float* __restrict out, Shape shape) {
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const std::int64_t at = row * shape.width;
    for (std::int64_t i = 0; i < shape.width; ++i) {
      const float u = x[at + i] + bias[i];
      out[at + i] = u * normal(u).below + residual[at + i];
    }
  }
}

EXAMPLES_INLINE void backward(const float* __restrict gradient, const float* __restrict x, const float* __restrict bias,
                              float* __restrict gradient_x, float* __restrict gradient_bias, Shape shape) {
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const std::int64_t at = row * shape.width;
    for (std::int64_t i = 0; i < shape.width; ++i) {
      const float u = x[at + i] + bias[i];
      const Normal of_u = normal(u);
      const float product = gradient[at + i] * (of_u.below + u * of_u.density);
      gradient_x[at + i] = product;
      gradient_bias[i] += product;
    }
  }
}

EXAMPLES_FOR_AVX2 void forward_avx2(const float* x, const float* bias, const float* residual, float* out, Shape shape) {
  forward(x, bias, residual, out, shape);
}
EXAMPLES_FOR_AVX2 void backward_avx2(const float* gradient, const float* x, const float* bias, float* gradient_x,
                                     float* gradient_bias, Shape shape) {
  backward(gradient, x, bias, gradient_x, gradient_bias, shape);
}

double share_below(double u) { return 0.5 * std::erfc(-u / std::numbers::sqrt2); }
double density(double u) { return std::exp(-0.5 * u * u) * std::numbers::inv_sqrtpi / std::numbers::sqrt2; }

}  // namespace

void bias_gelu_residual(const float* x, const float* bias, const float* residual, float* out, Shape shape) noexcept {
  has_avx2() ? forward_avx2(x, bias, residual, out, shape) : forward(x, bias, residual, out, shape);
}

void bias_gelu_residual_backward(const float* gradient, const float* x, const float* bias, float* gradient_x,
                                 float* gradient_bias, Shape shape) noexcept {
  has_avx2() ? backward_avx2(gradient, x, bias, gradient_x, gradient_bias, shape)
             : backward(gradient, x, bias, gradient_x, gradient_bias, shape);
}

void bias_gelu_residual(const double* x, const double* bias, const double* residual, double* out,
                        Shape shape) noexcept {
  for (std::int64_t at = 0; at < shape.rows * shape.width; ++at) {
    const double u = x[at] + bias[at % shape.width];
    out[at] = u * share_below(u) + residual[at];
  }
}

void bias_gelu_residual_backward(const double* gradient, const double* x, const double* bias, double* gradient_x,
                                 double* gradient_bias, Shape shape) noexcept {
  for (std::int64_t at = 0; at < shape.rows * shape.width; ++at) {
    const double u = x[at] + bias[at % shape.width];
    gradient_x[at] = gradient[at] * (share_below(u) + u * density(u));
    gradient_bias[at % shape.width] += gradient_x[at];
  }
}

}  // namespace examples::kernels
