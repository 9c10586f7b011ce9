// SPDX-License-Identifier: MIT
#pragma once

#include "source/torch/size_table.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <thread>

namespace rangefinder::torch {

/// The bytes of live blocks, for threads that share no lock. By the time the table is asked for a block, the processor
/// has dropped that part of it: a read there takes longer than all else that is done for a block. So the block that a
/// thread allocated last stays with the thread, while the memory of its place in the table is fetched; when the
/// thread's next one comes it goes there. Many blocks are freed before that.
class LiveBlocks {
 public:
  struct Block {
    std::uintptr_t address = 0;
    std::uint64_t bytes = 0;
  };

  /// A block that just was allocated on this thread. Gives one for which there was no memory, which is then forgotten:
  /// this one or the one before; address 0: none.
  Block put(Block block) noexcept {
    Newest* const mine = newest_of_thread();
    if (mine == nullptr) {
      allocations_.fetch_add(1, std::memory_order_relaxed);
      return sizes_.put(block.address, block.bytes) ? Block{} : block;
    }
    const Block lost = move_on(*mine);
    mine->allocations.store(mine->allocations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    mine->bytes.store(block.bytes, std::memory_order_relaxed);
    mine->address.store(block.address, std::memory_order_release);
    sizes_.prefetch(block.address);
    return lost;
  }

  /// Takes the block out, whichever thread allocated it; 0: it is not there.
  std::uint64_t take(std::uintptr_t address) noexcept {
    if (address == 0) return 0;
    if (Newest* const mine = newest; mine != nullptr && mine->address.load(std::memory_order_relaxed) == address) {
      const std::uint64_t bytes = mine->bytes.load(std::memory_order_relaxed);
      mine->address.store(0, std::memory_order_relaxed);
      return bytes;
    }
    if (const std::uint64_t bytes = sizes_.take(address); bytes != 0) return bytes;
    if (const std::uint64_t bytes = take_newest(address); bytes != 0) return bytes;
    return sizes_.take(address);  // it went there meanwhile
  }

  /// How often `put` was called.
  std::uint64_t allocations() const noexcept {
    std::uint64_t count = allocations_.load(std::memory_order_relaxed);
    for (const Newest* of = all_.load(std::memory_order_acquire); of != nullptr; of = of->next)
      count += of->allocations.load(std::memory_order_relaxed);
    return count;
  }

 private:
  static constexpr std::uintptr_t kMoves = 1;  // in an address: it is on its way to the table
  // A process that was forked has no thread that moves it: a second is enough for one that there is.
  static constexpr int kYields = 1000, kMaxWaits = kYields + 1000;

  struct alignas(64) Newest {
    std::atomic<std::uintptr_t> address{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> allocations{0};  // of this thread, and those that had this before it
    std::atomic<bool> is_used{true};            // by a thread
    Newest* next = nullptr;
  };

  /// Into the table, where it is still there.
  Block move_on(Newest& of) noexcept {
    std::uintptr_t address = of.address.load(std::memory_order_acquire);
    if (address == 0 || !of.address.compare_exchange_strong(address, address | kMoves, std::memory_order_acquire))
      return {};
    const Block block{address, of.bytes.load(std::memory_order_relaxed)};
    const bool kept = sizes_.put(block.address, block.bytes);
    of.address.store(0, std::memory_order_release);
    return kept ? Block{} : block;
  }

  /// Of another thread, and of one that has ended.
  std::uint64_t take_newest(std::uintptr_t address) noexcept {
    for (Newest* of = all_.load(std::memory_order_acquire); of != nullptr; of = of->next) {
      std::uintptr_t found = of->address.load(std::memory_order_acquire);
      if ((found & ~kMoves) != address) continue;
      const std::uint64_t bytes = of->bytes.load(std::memory_order_relaxed);
      if (found == address && of->address.compare_exchange_strong(found, 0, std::memory_order_acq_rel)) return bytes;
      for (int i = 0; i < kMaxWaits && of->address.load(std::memory_order_acquire) == (address | kMoves); ++i) {
        if (i < kYields)
          std::this_thread::yield();
        else
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return 0;
    }
    return 0;
  }

  Newest* newest_of_thread() noexcept { return newest != nullptr ? newest : new_newest(); }

  /// Null for want of memory, and in a thread that ends.
  [[gnu::noinline]] Newest* new_newest() noexcept {
    struct Owner {
      ~Owner() {
        is_gone = true;
        newest->is_used.store(false, std::memory_order_release);  // its block stays until somebody frees it
        newest = nullptr;
      }
    };
    if (is_gone) return nullptr;
    Newest* mine = unused();
    if (mine == nullptr) {
      mine = new (std::nothrow) Newest;
      if (mine == nullptr) return nullptr;
      mine->next = all_.load(std::memory_order_relaxed);
      while (!all_.compare_exchange_weak(mine->next, mine, std::memory_order_acq_rel)) {
      }
    }
    newest = mine;
    thread_local const Owner owner;
    return mine;
  }

  /// One that a thread left which has ended.
  Newest* unused() noexcept {
    for (Newest* of = all_.load(std::memory_order_acquire); of != nullptr; of = of->next) {
      bool used = false;
      if (of->is_used.compare_exchange_strong(used, true, std::memory_order_acq_rel)) return of;
    }
    return nullptr;
  }

  // One LiveBlocks a process: see HostAllocator.
  static inline __thread Newest* newest __attribute__((tls_model("initial-exec"))) = nullptr;
  static inline thread_local bool is_gone = false;

  SizeTable sizes_;
  std::atomic<Newest*> all_{nullptr};
  std::atomic<std::uint64_t> allocations_{0};  // of threads that end
};

}  // namespace rangefinder::torch
