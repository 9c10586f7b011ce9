// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// For programs that add allocation_count.cpp to their sources, which puts itself before the C library's allocator; not
// with a sanitizer, which has one of its own. `new` and libraries are counted, too.
namespace rangefinder::testing {

/// Calls of malloc, calloc, realloc and the aligned ones by the calling thread so far.
std::uint64_t allocations_of_this_thread() noexcept;

/// Bytes that all threads have allocated and not freed.
std::int64_t allocated_bytes() noexcept;
/// The most of them since the last call of begin_peak().
std::int64_t peak_of_allocated_bytes() noexcept;
void begin_peak() noexcept;

}  // namespace rangefinder::testing
