// SPDX-License-Identifier: MIT
#pragma once

#include "clock/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::clock {

/// Turns ticks and CLOCK_REALTIME into CLOCK_MONOTONIC nanoseconds, piecewise linearly between the points that a
/// recording took. Outside the points it goes on with the rate of the whole recording.
///
/// A step of CLOCK_REALTIME (NTP, an operator) between two points shows as a jump of the offset: it is counted. The
/// points between two steps make a run. A time belongs to the run that covers it; where the clock was set back and two
/// do, to the later one; where it was set forward and none does, to the nearer one.
///
/// Results are limited to kLatestNs on both sides, so that differences of any two of them fit.
class ClockTable {
 public:
  /// Points in any order; points that go backwards in ticks or in monotonic time, or that are beyond the limits, are
  /// dropped. `ticks_per_second` serves where fewer than two points remain.
  ClockTable(std::vector<ClockPoint> points, std::uint64_t ticks_per_second);

  std::int64_t monotonic_of_ticks(std::uint64_t ticks) const noexcept;
  /// The same, faster for times that mostly lie close together: `segment` is the caller's, 0 at first, and says where
  /// the last one was.
  std::int64_t monotonic_of_ticks(std::uint64_t ticks, std::size_t& segment) const noexcept;
  std::int64_t monotonic_of_realtime(std::int64_t realtime_ns) const noexcept;
  std::int64_t monotonic_of_realtime(std::int64_t realtime_ns, std::size_t& segment) const noexcept;  ///< likewise

  /// CLOCK_REALTIME - CLOCK_MONOTONIC at the first point.
  std::int64_t realtime_offset_ns() const noexcept { return realtime_offset_ns_; }
  /// Most that a converted device time can be off against host ranges: half of the widest bracket, plus what the offset
  /// drifted within one segment.
  std::int64_t error_bound_ns() const noexcept { return error_bound_ns_; }
  std::uint32_t realtime_steps() const noexcept { return static_cast<std::uint32_t>(runs_.size() - 1); }

  /// 126 years: nothing that a computer records lies further from the zero of either clock.
  static constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;

 private:
  struct Segment {
    std::uint64_t ticks;
    std::int64_t monotonic_ns;
    std::int64_t realtime_ns;
    std::uint64_t ns_per_tick;     // 24.40 fixed point, for the time from this point to the next
    std::int64_t offset_change;    // of (monotonic - realtime) until the next point of the run
    std::int64_t realtime_length;  // until then; 0: no next point
  };
  /// Segments without a step of CLOCK_REALTIME between them.
  struct Run {
    std::uint32_t first;
    std::uint32_t end;
    std::int64_t begin_realtime_ns;
    std::int64_t end_realtime_ns;  // where it had got to when the step was noticed
  };
  std::size_t segment_of(std::uint64_t ticks) const noexcept;
  std::size_t segment_at(std::int64_t realtime_ns) const noexcept;
  const Run& run_of(std::int64_t realtime_ns) const noexcept;
  void add_segments(const std::vector<ClockPoint>& points);

  std::vector<Segment> segments_;
  std::vector<Run> runs_;
  std::uint64_t whole_rate_ = 0;  // 24.40 fixed point
  std::int64_t realtime_offset_ns_ = 0;
  std::int64_t error_bound_ns_ = 0;
  bool realtime_goes_forward_ = true;
};

}  // namespace rangefinder::clock
