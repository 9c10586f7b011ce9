// SPDX-License-Identifier: MIT
#pragma once

#include "clock/clock.hpp"

#include <atomic>
#include <cstdint>

namespace rangefinder::testing {

/// Time stands still until a test moves it. A tick is a nanosecond of CLOCK_MONOTONIC; CLOCK_REALTIME is ahead of it.
class ManualClock final : public clock::Clock {
 public:
  static constexpr std::uint64_t kStart = 1'000'000'000;
  static constexpr std::int64_t kRealtimeOffset = 1'700'000'000'000'000'000;

  explicit ManualClock(std::uint64_t now = kStart) noexcept : now_(now) {}
  void set(std::uint64_t now) noexcept { now_.store(now, std::memory_order_relaxed); }
  void advance(std::uint64_t ns) noexcept { now_.fetch_add(ns, std::memory_order_relaxed); }

  clock::ClockKind kind() const noexcept override { return clock::ClockKind::kManual; }
  std::uint64_t ticks_per_second() const noexcept override { return 1'000'000'000; }
  std::uint64_t ticks() noexcept override { return now_.load(std::memory_order_relaxed); }
  clock::ClockPoint sample() noexcept override {
    const std::uint64_t now = ticks();
    return {now, static_cast<std::int64_t>(now), static_cast<std::int64_t>(now) + kRealtimeOffset, 0};
  }
  bool inline_ticks() const noexcept override { return false; }

 private:
  std::atomic<std::uint64_t> now_;
};

}  // namespace rangefinder::testing
