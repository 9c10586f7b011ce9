// SPDX-License-Identifier: MIT
#pragma once

#include "clock/clock.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::clock {

/// Turns ticks and CLOCK_REALTIME into CLOCK_MONOTONIC nanoseconds, piecewise linearly between the points that a
/// recording took. Outside the points it goes on with the rate of the whole recording.
///
/// A step of CLOCK_REALTIME (NTP, an operator) between two points shows as a jump of the offset: it is counted, and
/// times in that segment take the offset of the nearer side.
class ClockTable {
 public:
  /// Points in any order; points that go backwards in ticks or in monotonic time are dropped. `ticks_per_second` serves
  /// where fewer than two points remain.
  ClockTable(std::vector<ClockPoint> points, std::uint64_t ticks_per_second);

  std::int64_t monotonic_of_ticks(std::uint64_t ticks) const noexcept;
  std::int64_t monotonic_of_realtime(std::int64_t realtime_ns) const noexcept;

  /// CLOCK_REALTIME - CLOCK_MONOTONIC at the first point.
  std::int64_t realtime_offset_ns() const noexcept { return realtime_offset_ns_; }
  /// Most that a converted device time can be off against host ranges: half of the widest bracket, plus what the offset
  /// drifted within one segment.
  std::int64_t error_bound_ns() const noexcept { return error_bound_ns_; }
  std::uint32_t realtime_steps() const noexcept { return realtime_steps_; }
  bool empty() const noexcept { return segments_.empty(); }

 private:
  struct Segment {
    std::uint64_t ticks;
    std::int64_t monotonic_ns;
    std::int64_t realtime_ns;
    std::uint64_t ns_per_tick;   // 24.40 fixed point, for the time from this point to the next
    std::int64_t offset_change;  // of (monotonic - realtime) until the next point
    std::int64_t realtime_length;
    bool steps;                  // CLOCK_REALTIME was set in between
  };
  const Segment& by_ticks(std::uint64_t ticks) const noexcept;
  const Segment& by_realtime(std::int64_t realtime_ns) const noexcept;

  std::vector<Segment> segments_;
  std::int64_t realtime_offset_ns_ = 0;
  std::int64_t error_bound_ns_ = 0;
  std::uint32_t realtime_steps_ = 0;
};

}  // namespace rangefinder::clock
