// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/hot_path.hpp>

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>

// Waiting and locking for code that runs inside other people's threads.
namespace rangefinder::buffer {

/// How deep the calling thread is in the recorder: a signal handler that opens a range sees it and stays out.
inline void enter_recorder(detail::HotThread& hot) noexcept {
  __atomic_store_n(&hot.busy, hot.busy + 1, __ATOMIC_RELAXED);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void leave_recorder(detail::HotThread& hot) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  __atomic_store_n(&hot.busy, hot.busy - 1, __ATOMIC_RELAXED);
}

/// A lock that is held for well under a microsecond, except when its holder is preempted. A range that a signal handler
/// opens on the thread that holds it is dropped and counted, instead of waiting for what it interrupted.
class ShortLock {
 public:
  void lock() noexcept {
    enter_recorder(detail::hot_thread);
    for (unsigned spins = 0; locked_.exchange(1, std::memory_order_acquire) != 0; ++spins) {
      if (spins > 100) ::sched_yield();
    }
  }
  void unlock() noexcept {
    locked_.store(0, std::memory_order_release);
    leave_recorder(detail::hot_thread);
  }

 private:
  std::atomic<std::uint32_t> locked_{0};
};

/// Returns when `word` is no longer `expected`, when it is woken, or after `most`.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::milliseconds most) noexcept;
void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept;

/// Makes every running thread of the process pass a full barrier: what it stored before we looked, we see; what we
/// stored before, it sees. Threads pay nothing for it.
void barrier_for_all_threads() noexcept;

}  // namespace rangefinder::buffer
