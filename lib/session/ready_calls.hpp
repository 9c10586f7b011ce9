// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/session.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace rangefinder::session {

/// Calls SessionOptions::on_capture_ready, on a thread of its own: a callback that uploads for minutes holds up neither
/// the program nor the next capture.
class ReadyCalls : public std::enable_shared_from_this<ReadyCalls> {
 public:
  using Callback = std::function<void(const CaptureReady&)>;
  explicit ReadyCalls(Callback callback) : callback_(std::move(callback)) {}

  /// Throws where the system has no thread to give.
  void start();
  void add(CaptureReady ready);
  /// Waits until all has been called, no longer than this. A call that does not end is left behind, and none follows
  /// it: returns how many are not made. Where a callback ends its own session, the rest comes after it.
  std::size_t finish(std::chrono::steady_clock::time_point deadline) noexcept;
  /// One that could not be added.
  void note_failed() noexcept { failed_.fetch_add(1, std::memory_order_relaxed); }
  /// How many of them threw, or were not made.
  std::uint64_t failed() const noexcept { return failed_.load(std::memory_order_relaxed); }

 private:
  void run();
  void call(const CaptureReady& ready);

  Callback callback_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<CaptureReady> waiting_;
  bool closing_ = false;
  bool ended_ = true;
  std::atomic<std::uint64_t> failed_{0};
  std::thread thread_;
};

}  // namespace rangefinder::session
