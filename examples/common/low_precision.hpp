// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/benchmark.hpp>

#include <torch/torch.h>

#include <string>

// Matrices of float8 elements with scales, and their products: by the tensor cores of a GPU, or on a CPU by an
// emulation that widens the elements and multiplies in float32.
namespace examples {

/// What elements can have: float8 e4m3 (largest 448) and e5m2 (57344), float4 e2m1 (6), bfloat16.
enum class Format { kE4m3, kE5m2, kE2m1, kBFloat16 };

torch::ScalarType type_of(Format format);  ///< not of kE2m1, which LibTorch only stores
double largest(Format format);
/// Rounding moves a number that is neither too large nor too small by this share of itself at most.
double unit_roundoff(Format format);
/// How far a product of two rounded matrices is from the exact one, |a - b| / |b|, at most: rounding errors of elements
/// are even within half a step, sqrt(1/3) of it on average, and add up as independent ones do.
double product_error_bound(Format a, Format b);

/// |value - reference| / |reference| over the whole tensors, computed in float64.
double relative_error(const torch::Tensor& value, const torch::Tensor& reference);
/// Throws a runtime_error that names `what` and both figures where the error is above the bound, or not a number.
void require_error_below(const std::string& what, double error, double bound);

/// x / divisor, the same bits on all devices: LibTorch lets a GPU multiply by the reciprocal of what is a number.
torch::Tensor divided(const torch::Tensor& x, double divisor);

/// How many scales: one for the whole matrix, or one for each row.
enum class Scales { kOfTensor, kOfRows };

/// A matrix of float8 elements. What they stand for is values * scales.
struct Float8 {
  torch::Tensor values;  ///< float8, [rows, columns]
  torch::Tensor scales;  ///< float32, [1] or [rows, 1]
};

/// The largest absolute values, float32, shaped as scales.
torch::Tensor amax_of(const torch::Tensor& x, Scales scales);
/// So that `amax` becomes the format's largest number.
torch::Tensor scales_from(const torch::Tensor& amax, Format format);
/// The nearest numbers to x / scales, ties to even; what is larger than the format's largest becomes that.
Float8 to_float8(const torch::Tensor& x, const torch::Tensor& scales, Format format);
/// With scales of x's own largest values.
Float8 quantize_float8(const torch::Tensor& x, Format format, Scales scales);
torch::Tensor dequantize(const Float8& x);
/// Of a matrix with one scale.
Float8 transposed(const Float8& x);

struct ProductOptions {
  torch::ScalarType type = torch::kFloat;  ///< of the result; bfloat16 where a GPU has scales of rows
  /// Let tensor cores add up with fewer bits, which is faster: good enough forward, not for gradients.
  bool fast_sums = false;
};

/// a b^T: both have the inner dimension last, as tensor cores want it. It and the rows of b are padded with zeros to a
/// multiple of 16, and the result is cut. On a CPU an emulation.
torch::Tensor product(const Float8& a, const Float8& b, const ProductOptions& options = {});

/// Why float8 products cannot run: "needs_sm_89", or with scales of rows "needs_sm_90"; empty: they can. A CPU
/// emulates.
std::string float8_skip(const rangefinder::bench::Setup& setup, Scales scales);

}  // namespace examples
