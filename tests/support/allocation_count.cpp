// SPDX-License-Identifier: MIT
#include "support/allocation_count.hpp"

#include <cerrno>
#include <cstddef>

namespace {
// initial-exec: the first use must not allocate.
[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint64_t t_allocations = 0;
}  // namespace

std::uint64_t rangefinder::testing::allocations_of_this_thread() noexcept { return t_allocations; }

extern "C" {

// The C library's own, under the names that it keeps for those who come before it.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) { return ++t_allocations, __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) { return ++t_allocations, __libc_calloc(count, bytes); }
void* realloc(void* block, std::size_t bytes) { return ++t_allocations, __libc_realloc(block, bytes); }
void* memalign(std::size_t alignment, std::size_t bytes) { return ++t_allocations, __libc_memalign(alignment, bytes); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  *block = memalign(alignment, bytes);
  return *block == nullptr ? ENOMEM : 0;
}

}  // extern "C"
