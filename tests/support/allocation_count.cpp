// SPDX-License-Identifier: MIT
#include "support/allocation_count.hpp"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

// initial-exec: the first use must not allocate.
[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint64_t t_allocations = 0;
constinit std::atomic<std::int64_t> g_bytes{0};
constinit std::atomic<std::int64_t> g_peak{0};

std::int64_t size_of(void* block) noexcept { return static_cast<std::int64_t>(::malloc_usable_size(block)); }

void add_bytes(std::int64_t bytes) noexcept {
  const std::int64_t now = g_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = g_peak.load(std::memory_order_relaxed);
  while (now > peak && !g_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

void* counted(void* block) noexcept {
  ++t_allocations;
  add_bytes(size_of(block));
  return block;
}

}  // namespace

std::uint64_t rangefinder::testing::allocations_of_this_thread() noexcept { return t_allocations; }
std::int64_t rangefinder::testing::allocated_bytes() noexcept { return g_bytes.load(std::memory_order_relaxed); }
std::int64_t rangefinder::testing::peak_of_allocated_bytes() noexcept { return g_peak.load(std::memory_order_relaxed); }
void rangefinder::testing::begin_peak() noexcept { g_peak.store(allocated_bytes(), std::memory_order_relaxed); }

extern "C" {

// The C library's own, under the names that it keeps for those who come before it.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* block);

void* malloc(std::size_t bytes) { return counted(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) { return counted(__libc_calloc(count, bytes)); }
void* realloc(void* block, std::size_t bytes) {
  const std::int64_t before = size_of(block);
  void* const moved = __libc_realloc(block, bytes);
  ++t_allocations;
  if (moved != nullptr || bytes == 0) add_bytes(size_of(moved) - before);
  return moved;
}
void* memalign(std::size_t alignment, std::size_t bytes) { return counted(__libc_memalign(alignment, bytes)); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  *block = memalign(alignment, bytes);
  return *block == nullptr ? ENOMEM : 0;
}
void free(void* block) {
  add_bytes(-size_of(block));
  __libc_free(block);
}

}  // extern "C"
