// SPDX-License-Identifier: MIT
#pragma once

// Loops of our own are compiled twice where that is possible: for any x86-64, and for those with AVX2, which have it is
// known only when the program runs. What both share must be inlined into each.
#if defined(__x86_64__) && defined(__GNUC__)
#define EXAMPLES_FOR_AVX2 __attribute__((target("avx2,fma")))
#else
#define EXAMPLES_FOR_AVX2
#endif
#define EXAMPLES_INLINE [[gnu::always_inline]] inline

namespace examples::kernels {

inline bool has_avx2() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
#else
  return false;
#endif
}

}  // namespace examples::kernels
