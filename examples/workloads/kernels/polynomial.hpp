// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace examples::kernels {

/// Horner's rule in one pass over memory: y[i] = (c[0] x[i] + c[1]) x[i] + ... + c[degree]. `count` is a multiple
/// of 64.
void polynomial(const float* x, float* y, std::int64_t count, const float* coefficients, std::int64_t degree) noexcept;

}  // namespace examples::kernels
