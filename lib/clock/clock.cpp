// SPDX-License-Identifier: MIT
#include "clock/clock.hpp"

#include "base/never_destroyed.hpp"

#include <rangefinder/detail/ticks.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <ctime>
#include <limits>

namespace rangefinder::clock {
namespace {

std::int64_t read_ns(clockid_t id) noexcept {
  timespec now{};
  ::clock_gettime(id, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

bool fast_counter_is_usable() noexcept {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  // Invariant TSC: constant rate in every power state (Intel SDM, 18.17.1; AMD APM, CPUID 8000_0007h EDX[8]).
  return __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0;
#elif defined(__aarch64__)
  return true;  // The architecture promises a constant rate.
#else
  return false;
#endif
}

class FastClock final : public Clock {
 public:
  FastClock() noexcept {
    // Rough until it is calibrated: only used to turn the brackets of these two samples into nanoseconds.
    ticks_per_second_ = 1'000'000'000;
    const ClockPoint first = sample();
    while (read_ns(CLOCK_MONOTONIC) - first.monotonic_ns < kCalibrationNs) {
    }
    const ClockPoint last = sample();
    ticks_per_second_ =
        static_cast<std::uint64_t>(static_cast<unsigned __int128>(last.ticks - first.ticks) * 1'000'000'000u /
                                   static_cast<std::uint64_t>(last.monotonic_ns - first.monotonic_ns));
  }

  ClockKind kind() const noexcept override {
#if defined(__aarch64__)
    return ClockKind::kCounter;
#else
    return ClockKind::kTsc;
#endif
  }
  std::uint64_t ticks_per_second() const noexcept override { return ticks_per_second_; }
  std::uint64_t ticks() noexcept override { return detail::read_ticks(); }
  bool inline_ticks() const noexcept override { return true; }

  ClockPoint sample() noexcept override {
    ClockPoint best;
    best.width_ns = std::numeric_limits<std::uint32_t>::max();
    std::uint64_t best_ticks = std::numeric_limits<std::uint64_t>::max();
    // The narrowest of five: an interrupt in the middle shows as a wide one.
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t t0 = detail::read_ticks();
      const std::int64_t realtime = read_ns(CLOCK_REALTIME);
      const std::uint64_t t1 = detail::read_ticks();
      const std::int64_t monotonic = read_ns(CLOCK_MONOTONIC);
      const std::uint64_t t2 = detail::read_ticks();
      if (t2 - t0 >= best_ticks) continue;
      best_ticks = t2 - t0;
      best.ticks = t1 + (t2 - t1) / 2;
      best.monotonic_ns = monotonic;
      // Both were read in the middle of their brackets, as far as anyone can tell: move one to the other's time.
      const std::uint64_t apart = best.ticks - (t0 + (t1 - t0) / 2);
      best.realtime_ns = realtime + static_cast<std::int64_t>(to_ns(apart));
    }
    const std::uint64_t width = to_ns(best_ticks);
    best.width_ns = width > 0xFFFFFFFFu ? 0xFFFFFFFFu : static_cast<std::uint32_t>(width);
    return best;
  }

 private:
  static constexpr std::int64_t kCalibrationNs = 2'000'000;

  std::uint64_t to_ns(std::uint64_t ticks) const noexcept {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(ticks) * 1'000'000'000u / ticks_per_second_);
  }

  std::uint64_t ticks_per_second_;
};

class MonotonicClock final : public Clock {
 public:
  ClockKind kind() const noexcept override { return ClockKind::kMonotonic; }
  std::uint64_t ticks_per_second() const noexcept override { return 1'000'000'000; }
  std::uint64_t ticks() noexcept override { return static_cast<std::uint64_t>(read_ns(CLOCK_MONOTONIC)); }
  bool inline_ticks() const noexcept override {
#if defined(__x86_64__) || defined(__aarch64__)
    return false;
#else
    return true;
#endif
  }

  ClockPoint sample() noexcept override {
    ClockPoint best;
    best.width_ns = std::numeric_limits<std::uint32_t>::max();
    for (int i = 0; i < 5; ++i) {
      const std::int64_t before = read_ns(CLOCK_MONOTONIC);
      const std::int64_t realtime = read_ns(CLOCK_REALTIME);
      const std::int64_t after = read_ns(CLOCK_MONOTONIC);
      if (after - before >= best.width_ns) continue;
      best.monotonic_ns = before + (after - before) / 2;
      best.ticks = static_cast<std::uint64_t>(best.monotonic_ns);
      best.realtime_ns = realtime;
      best.width_ns = static_cast<std::uint32_t>(after - before);
    }
    return best;
  }
};

}  // namespace

Clock& system_clock() noexcept {
  // Ranges and the exit handler use it until the process is gone.
  static Clock* const clock = []() -> Clock* {
    static base::NeverDestroyed<MonotonicClock> monotonic;
    if (!fast_counter_is_usable()) return &*monotonic;
    static base::NeverDestroyed<FastClock> fast;
    return &*fast;
  }();
  return *clock;
}

}  // namespace rangefinder::clock
