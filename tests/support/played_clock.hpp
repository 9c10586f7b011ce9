// SPDX-License-Identifier: MIT
#pragma once

#include "clock/clock.hpp"
#include "support/manual_clock.hpp"

#include <atomic>
#include <cstdint>

namespace rangefinder::testing {

/// For programs that are played from a log: each thread that plays has its own time, as the log has it; for all others
/// it stands still.
class PlayedClock final : public clock::Clock {
 public:
  explicit PlayedClock(std::int64_t begin_ns) : others_(static_cast<std::uint64_t>(begin_ns)) {}
  static void set_mine(std::int64_t ns) noexcept { mine_ = static_cast<std::uint64_t>(ns); }
  void set_others(std::int64_t ns) noexcept { others_.store(static_cast<std::uint64_t>(ns)); }
  /// The same time as the device's records have it.
  static std::uint64_t on_device(std::int64_t ns) noexcept {
    return static_cast<std::uint64_t>(ns + ManualClock::kRealtimeOffset);
  }

  clock::ClockKind kind() const noexcept override { return clock::ClockKind::kManual; }
  std::uint64_t ticks_per_second() const noexcept override { return 1'000'000'000; }
  std::uint64_t ticks() noexcept override { return mine_ != 0 ? mine_ : others_.load(); }
  clock::ClockPoint sample() noexcept override {
    const std::uint64_t now = others_.load();
    return {now, static_cast<std::int64_t>(now), static_cast<std::int64_t>(now) + ManualClock::kRealtimeOffset, 0};
  }
  bool inline_ticks() const noexcept override { return false; }

 private:
  inline static thread_local std::uint64_t mine_ = 0;  // 0: the thread does not play
  std::atomic<std::uint64_t> others_;
};

}  // namespace rangefinder::testing
