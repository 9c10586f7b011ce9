// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rangefinder::clock {

/// Which counter the ticks of a capture come from. Stored in captures: values are never reused.
enum class ClockKind : std::uint8_t {
  kTsc = 1,        ///< x86 time-stamp counter, invariant
  kMonotonic = 2,  ///< CLOCK_MONOTONIC, one tick a nanosecond
  kCounter = 3,    ///< AArch64 virtual counter
  kManual = 4,     ///< a test's clock
};

/// The three clocks read together. `width_ns` is the time the readings took: twice the most they can be apart.
struct ClockPoint {
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0;
  std::int64_t realtime_ns = 0;
  std::uint32_t width_ns = 0;
};

/// Where a session's time comes from. Tests pass their own; everybody else system_clock().
class Clock {
 public:
  virtual ~Clock() = default;
  virtual ClockKind kind() const noexcept = 0;
  /// Nominal; the points of the capture refine it.
  virtual std::uint64_t ticks_per_second() const noexcept = 0;
  virtual std::uint64_t ticks() noexcept = 0;
  virtual ClockPoint sample() noexcept = 0;
  /// True when ticks() is detail::read_ticks(), so that ranges may read it inline.
  virtual bool inline_ticks() const noexcept = 0;
};

/// The machine's clock: TSC where it is invariant, else CLOCK_MONOTONIC. Calibrates for 2 ms on the first call.
Clock& system_clock() noexcept;

}  // namespace rangefinder::clock
