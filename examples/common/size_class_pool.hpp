// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace examples {

/// Blocks of the host's memory in sizes of powers of two. What is freed goes to a list of its size and of the stream
/// that it was allocated for, where the next allocation finds it; nothing returns to the system before the pool ends.
///
///   SizeClassPool pool;
///   void* block = pool.allocate(1 << 20);
///   pool.free(block);
///
/// Blocks of a stream serve no other until synchronized() says that its work is done: on a device, work that was
/// launched before the free still runs after it.
///
/// Errors:  allocate throws std::bad_alloc.
/// Threads: any; one lock.
class SizeClassPool {
 public:
  static constexpr std::size_t kAlignment = 64;

  struct Counts {
    std::uint64_t allocations = 0;
    std::uint64_t hits = 0;           ///< of these, served from a list
    std::uint64_t refused_frees = 0;  ///< of blocks that were not live
    std::size_t live_bytes = 0;       ///< as asked for
    std::size_t live_block_bytes = 0;
    std::size_t free_block_bytes = 0;
    std::size_t reserved_bytes = 0;  ///< from the system, without headers: live and free blocks
    /// Of all that was ever allocated: asked for, and given.
    std::uint64_t asked_bytes = 0, given_bytes = 0;
  };

  SizeClassPool() = default;
  ~SizeClassPool();
  SizeClassPool(const SizeClassPool&) = delete;
  SizeClassPool& operator=(const SizeClassPool&) = delete;

  /// Aligned to kAlignment, at least `bytes`.
  void* allocate(std::size_t bytes, std::uint64_t stream = 0);
  /// Of a block of this pool; false, and nothing happens, when it is free already.
  bool free(void* block) noexcept;
  /// The work of a stream is done: what it has freed may serve any.
  void synchronized(std::uint64_t stream);
  Counts counts() const;

  /// Frees a block of whichever pool it is of.
  static void free_anywhere(void* block) noexcept;

 private:
  struct Header;
  static constexpr std::size_t kClasses = 48;  // up to 128 TiB
  using Lists = std::array<Header*, kClasses>;

  Header* take(Lists& lists, std::size_t size_class);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Lists> by_stream_;
  Lists for_all_{};
  std::vector<Header*> all_;
  Counts counts_;
};

}  // namespace examples
