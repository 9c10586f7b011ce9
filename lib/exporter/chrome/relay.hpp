// SPDX-License-Identifier: MIT
#pragma once

#include "base/signals_blocked.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace rangefinder::chrome {

/// Has pieces of work done in order on a thread of its own, and holds back whoever makes them where too much waits.
///
/// Errors:  what `use` throws comes out of the next `hand_on`, or `finish`; the rest of the work is dropped.
/// Threads: all members but the constructor's `use` on one thread.
template <typename Work>
class Relay {
 public:
  explicit Relay(std::function<void(Work&)> use) : use_(std::move(use)) {
    const base::SignalsBlocked blocked;
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      // No thread to be had: the work is done as it is handed on.
    }
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  /// What has not been done is dropped.
  ~Relay() { stop(true); }

  /// `bytes`: the memory that it takes.
  void hand_on(Work work, std::size_t bytes) {
    if (!thread_.joinable()) return use_(work);
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return failure_ != nullptr || waiting_bytes_ < kMaxWaiting; });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    waiting_.push_back({std::move(work), bytes});
    waiting_bytes_ += bytes;
    lock.unlock();
    added_.notify_one();
  }
  /// All that was handed on is done.
  void finish() {
    stop(false);
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  // Enough that one thread has something to do while the other one projects a window, or writes one: with 1 MiB an
  // export took a quarter longer.
  static constexpr std::size_t kMaxWaiting = std::size_t{4} << 20;
  struct Waiting {
    Work work;
    std::size_t bytes;
  };

  void stop(bool drop) noexcept {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      is_last_ = true;
      if (drop) waiting_.clear();
    }
    added_.notify_one();
    thread_.join();
  }
  void run() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      added_.wait(lock, [this] { return is_last_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      {
        Waiting next = std::move(waiting_.front());
        waiting_.pop_front();
        waiting_bytes_ -= next.bytes;
        lock.unlock();
        taken_.notify_one();
        try {
          use_(next.work);
        } catch (...) {
          lock.lock();
          failure_ = std::current_exception();
          waiting_.clear();
          taken_.notify_one();
          return;
        }
      }
      lock.lock();
    }
  }

  std::function<void(Work&)> use_;
  std::mutex mutex_;
  std::condition_variable added_, taken_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_last_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // behind all that it uses
};

}  // namespace rangefinder::chrome
