// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/benchmark.hpp>
#include <rangefinder/result.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rangefinder::bench {

/// How two outputs differ. `failure` is empty where they agree within the tolerance.
struct Difference {
  std::uint64_t elements = 0;
  std::uint64_t outside = 0;  ///< elements out of tolerance
  double most_absolute = 0;   ///< of pairs of finite elements
  double most_relative = 0;   ///< likewise, where the reference is not 0
  double frobenius = 0;       ///< the greatest |a - b| / |b| of a tensor
  std::string failure;        ///< what, where, which values
};

/// Whether `found` is `reference` within the tolerance: same names, types and shapes in the same order; NaN agrees with
/// NaN and infinities with themselves; integers and booleans are exact whatever the tolerance. Tensors without a single
/// element prove nothing and fail.
Difference compare(const std::vector<TensorView>& reference, const std::vector<TensorView>& found,
                   const Tolerance& tolerance);

/// Whether `a` lets pass what `b` would not.
bool looser(const Tolerance& a, const Tolerance& b);

/// An element of any floating point type.
double float_at(const TensorView& tensor, std::uint64_t index);

/// Product of the shape, or an error where it is negative or its bytes overflow.
Result<std::uint64_t> element_count(const TensorView& tensor);

}  // namespace rangefinder::bench
