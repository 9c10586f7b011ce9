// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rangefinder::analysis {

/// What an operator is like: which of its inputs are read, and what it writes.
enum class BandwidthRule : std::uint8_t {
  kElementwise,  ///< as large as its inputs together, of the type that these are promoted to
  kFloating,     ///< likewise, and integers become floating point
  kComparison,   ///< likewise, bool
  kDropout,      ///< likewise, and a mask of bool
  kFill,         ///< writes, and reads nothing
  kCopy,         ///< reads the second, writes the first
  kLayerNorm,
  kLayerNormBackward,
  kRmsNorm,
  kBatchNorm,
  kBatchNormBackward,
  kGroupNorm,
  kNativeGroupNorm,
  kSoftmax,
  kReduction,  ///< over all dimensions, or those of its second input
  kNorm,       ///< over all dimensions, or those of its third input
  kEmbedding,
  kEmbeddingBackward,
  kEmbeddingBag,
  kIndexSelect,
  kGather,
};

struct BandwidthOperator {
  std::string_view name;  ///< without "aten::", and without `_` at the end (in place)
  BandwidthRule rule;
  /// Inputs that it may read as tensors: the first ones. Behind them an overload `out`, which compiled programs call,
  /// has what it writes.
  std::size_t inputs;
};

/// By the name in the data; null for other operators.
const BandwidthOperator* find_bandwidth_operator(std::string_view name) noexcept;

}  // namespace rangefinder::analysis
