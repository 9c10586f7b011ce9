// SPDX-License-Identifier: MIT
#pragma once

#include "advice/context.hpp"

#include <rangefinder/timeline.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Products of matrices and convolutions: what they are of, and what the device computed them with.
namespace rangefinder::advice {

/// What operands are.
enum class OperandType : std::uint8_t { kUnknown, kFloat, kHalf, kEightBit, kOther };

/// What a kernel's name says of tensor cores (matrix cores).
enum class TensorCores : std::uint8_t { kUnknown, kUsed, kNotUsed };

struct Product {
  ActivityIndex kernel{};
  bool is_gemm = false;  ///< else a convolution
  OperandType type = OperandType::kUnknown;
  TensorCores cores = TensorCores::kUnknown;
  double flops = 0;  ///< 0: not known
  /// Rows, columns and inner size of a GEMM whose shapes are known.
  std::optional<std::array<std::int64_t, 3>> sizes;

  /// Elements in 16 bytes of its operands; 0: not known.
  std::int64_t alignment() const noexcept;
  /// Whether columns and inner size are multiples of it. Of rows the shapes do not tell whether an operand has them
  /// innermost: one that is transposed has.
  bool is_aligned() const noexcept;
  bool has_aligned_rows() const noexcept;
};

TensorCores tensor_cores_of(std::string_view kernel) noexcept;

/// Of the judged work, in order of rows; Context::products keeps them. An operator with several kernels counts its
/// FLOPs for the longest.
std::vector<Product> products_of(Context& context);

}  // namespace rangefinder::advice
