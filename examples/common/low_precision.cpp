// SPDX-License-Identifier: MIT
#include "common/low_precision.hpp"

#include "common/libtorch_worker.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace examples {
namespace {

constexpr std::int64_t kTile = 16;  // what cuBLASLt wants float8 dimensions to be a multiple of

std::int64_t padding_of(std::int64_t extent) { return (kTile - extent % kTile) % kTile; }

/// Zeros below and to the right. By bytes: all operators know those, and a zero has none set.
torch::Tensor padded(const torch::Tensor& values, std::int64_t rows, std::int64_t columns) {
  if (rows == 0 && columns == 0) return values.contiguous();
  return at::constant_pad_nd(values.view(torch::kByte), {0, columns, 0, rows}, 0).view(values.scalar_type());
}

/// One for each of the rows, also of those that are padding.
torch::Tensor row_scales(const torch::Tensor& scales, std::int64_t rows, std::int64_t padding) {
  if (scales.numel() == 1) return scales.view({1, 1}).expand({rows + padding, 1}).contiguous();
  return padding == 0 ? scales : at::constant_pad_nd(scales, {0, 0, 0, padding}, 1);
}

}  // namespace

torch::ScalarType type_of(Format format) {
  switch (format) {
    case Format::kE4m3:
      return torch::kFloat8_e4m3fn;
    case Format::kE5m2:
      return torch::kFloat8_e5m2;
    case Format::kBFloat16:
      return torch::kBFloat16;
    case Format::kE2m1:
      break;
  }
  throw std::invalid_argument("no tensors convert to float4");
}

double largest(Format format) {
  switch (format) {
    case Format::kE4m3:
      return 448;
    case Format::kE5m2:
      return 57344;
    case Format::kE2m1:
      return 6;
    case Format::kBFloat16:
      break;
  }
  return static_cast<double>(std::numeric_limits<at::BFloat16>::max());
}

double unit_roundoff(Format format) {
  switch (format) {  // half of the last digit
    case Format::kE4m3:
      return 0x1p-4;
    case Format::kE5m2:
      return 0x1p-3;
    case Format::kE2m1:
      return 0x1p-2;
    case Format::kBFloat16:
      break;
  }
  return 0x1p-8;
}

double product_error_bound(Format a, Format b) { return std::hypot(unit_roundoff(a), unit_roundoff(b)) / std::sqrt(3); }

double relative_error(const torch::Tensor& value, const torch::Tensor& reference) {
  const torch::Tensor exact = reference.to(torch::kDouble);
  return ((value.to(torch::kDouble) - exact).norm() / exact.norm()).item<double>();
}

void require_error_below(const std::string& what, double error, double bound) {
  if (error <= bound) return;  // not a number is not below
  std::ostringstream text;
  text << what << ": the relative error is " << error << ", and the format allows " << bound;
  throw std::runtime_error(text.str());
}

torch::Tensor divided(const torch::Tensor& x, double divisor) { return x / torch::full({1}, divisor, x.options()); }

torch::Tensor amax_of(const torch::Tensor& x, Scales scales) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const torch::Tensor magnitude = x.detach();
  if (scales == Scales::kOfRows) return at::linalg_vector_norm(magnitude, kInfinity, {1}, true, torch::kFloat);
  return at::linalg_vector_norm(magnitude, kInfinity, std::nullopt, false, torch::kFloat).view({1});
}

torch::Tensor scales_from(const torch::Tensor& amax, Format format) {
  // Zeros have any scale but zero.
  return divided(amax, largest(format)).clamp_min_(std::numeric_limits<float>::min());
}

Float8 to_float8(const torch::Tensor& x, const torch::Tensor& scales, Format format) {
  // LibTorch's casts do not saturate: e4m3 has NaN for what is too large, e5m2 infinity.
  const double most = largest(format);
  return {(x.detach() / scales).clamp_(-most, most).to(type_of(format)), scales};
}

Float8 quantize_float8(const torch::Tensor& x, Format format, Scales scales) {
  return to_float8(x, scales_from(amax_of(x, scales), format), format);
}

torch::Tensor dequantize(const Float8& x) { return x.values.to(torch::kFloat).mul_(x.scales); }

Float8 transposed(const Float8& x) {
  if (x.scales.numel() != 1) throw std::invalid_argument("scales of rows would become scales of columns");
  return {x.values.t().contiguous(), x.scales};
}

torch::Tensor product(const Float8& a, const Float8& b, const ProductOptions& options) {
  const std::int64_t rows = a.values.size(0), columns = b.values.size(0);
  const std::int64_t inner = padding_of(a.values.size(1)), outer = padding_of(columns);
  const torch::Tensor left = padded(a.values, 0, inner), right = padded(b.values, outer, inner);
  torch::Tensor left_scales = a.scales, right_scales = b.scales;
  if (left_scales.numel() != 1 || right_scales.numel() != 1) {
    left_scales = row_scales(a.scales, rows, 0);
    right_scales = row_scales(b.scales, columns, outer);
  }
  torch::Tensor out;
  if (left.is_cuda()) {
    out = at::_scaled_mm(left, right.t(), left_scales, right_scales.t(), {}, {}, options.type, options.fast_sums);
  } else {
    out = at::mm(dequantize({left, left_scales}), dequantize({right, right_scales}).t()).to(options.type);
  }
  return outer == 0 ? out : out.narrow(1, 0, columns).contiguous();
}

std::string float8_skip(const rangefinder::bench::Setup& setup, Scales scales) {
  if (setup.device != "cuda") return {};
  const int capability = cuda_capability();
  if (scales == Scales::kOfRows) return capability < 90 ? "needs_sm_90" : "";
  return capability < 89 ? "needs_sm_89" : "";
}

}  // namespace examples
