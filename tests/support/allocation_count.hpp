// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rangefinder::testing {

/// Calls of malloc, calloc, realloc and the aligned ones by the calling thread so far, `new` and libraries included.
/// For programs that add allocation_count.cpp to their sources, which puts itself before the C library's; not with a
/// sanitizer, which has an allocator of its own.
std::uint64_t allocations_of_this_thread() noexcept;

}  // namespace rangefinder::testing
