// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rangefinder::testing {

/// Whether allocations are counted here: sanitizers have an allocator of their own.
constexpr bool allocations_are_counted() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

/// Calls of malloc, calloc, realloc and the aligned ones by the calling thread so far, `new` and libraries included.
/// For programs that add allocation_count.cpp to their sources, which puts itself before the C library's.
std::uint64_t allocations_of_this_thread() noexcept;

}  // namespace rangefinder::testing
