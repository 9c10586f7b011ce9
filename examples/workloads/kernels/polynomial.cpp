// SPDX-License-Identifier: MIT
#include "workloads/kernels/polynomial.hpp"

#include "workloads/kernels/cpu_target.hpp"

#include <cstring>

namespace examples::kernels {
namespace {

// Eight chains at a time: one alone would wait for its last product at each coefficient. All of them stay in registers.
constexpr int kChains = 8;
using Lanes = float __attribute__((vector_size(32)));
constexpr std::int64_t kLanes = 8;

EXAMPLES_INLINE void evaluate(const float* x, float* y, std::int64_t count, const float* coefficients,
                              std::int64_t degree) {
  for (std::int64_t begin = 0; begin < count; begin += kChains * kLanes) {
    Lanes in[kChains], value[kChains];
    std::memcpy(in, x + begin, sizeof in);
    for (Lanes& one : value) one = Lanes{} + coefficients[0];
    for (std::int64_t k = 1; k <= degree; ++k)
      for (int chain = 0; chain < kChains; ++chain) value[chain] = value[chain] * in[chain] + coefficients[k];
    std::memcpy(y + begin, value, sizeof value);
  }
}

EXAMPLES_FOR_AVX2 void evaluate_avx2(const float* x, float* y, std::int64_t count, const float* coefficients,
                                     std::int64_t degree) {
  evaluate(x, y, count, coefficients, degree);
}

}  // namespace

void polynomial(const float* x, float* y, std::int64_t count, const float* coefficients, std::int64_t degree) noexcept {
  has_avx2() ? evaluate_avx2(x, y, count, coefficients, degree) : evaluate(x, y, count, coefficients, degree);
}

}  // namespace examples::kernels
