// SPDX-License-Identifier: MIT
#pragma once

#include "base/intervals.hpp"
#include "projection/busy_time.hpp"
#include "projection/window_rows.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace rangefinder::analysis {

/// What a recording holds, added up window by window or at once.
struct RecordingFacts {
  std::uint64_t ranges = 0;
  std::uint64_t activities = 0;
  std::uint64_t steps = 0;
  bool has_operators = false;
  bool has_estimates = false;  ///< see ActivityTable::estimated
  bool has_passes = false;     ///< see Projection::pass
  bool has_bounds = false;     ///< see Timeline::is_lower_bound
  Account account;

  void add(const projection::WindowRows& window);
};

/// How busy devices and host were.
struct RecordingFigures {
  struct Device {
    DeviceIndex device = kNone;
    std::int64_t busy_ns = 0;  ///< with anything running, of the recorded time
  };

  RecordingFacts facts;
  std::int64_t recorded_ns = 0;
  std::vector<Device> devices;  ///< that worked
  ThreadIndex thread = kNone;   ///< the one with most time in ranges
  std::int64_t in_ranges_ns = 0;
  std::uint32_t threads_in_ranges = 0;  ///< that have any such time
  std::int64_t all_in_ranges_ns = 0;    ///< of all threads, added up
};

/// From the first moment that was recorded to the last; device work of before is not part of it.
base::Interval recorded_span(const Timeline& timeline);
/// Of a window, before the extent of all is known: where no windows of recording are said, all time is recorded.
base::Interval known_span(const Timeline& timeline);

/// Adds up RecordingFigures window by window, or at once. Memory: the stretches in which a device or a thread was busy
/// and that windows to come may reach into.
class RecordingTotals {
 public:
  explicit RecordingTotals(const ProjectionOptions& options) : options_(options) {}

  void add(const projection::WindowRows& window);
  const RecordingFacts& facts() const noexcept { return facts_; }
  /// `timeline`: that of the last window, with begin and end of all.
  RecordingFigures figures(const Timeline& timeline) const;

 private:
  struct Busy {
    projection::BusyTime time;
    std::int64_t sum_ns = 0;
    std::int64_t settled_ns = std::numeric_limits<std::int64_t>::max();  // of the window at hand
  };
  static void add(std::vector<Busy>& all, std::vector<std::pair<std::uint32_t, base::Interval>>& spans);
  void add_devices(const projection::WindowRows& window, const base::Interval& bounds);
  void add_threads(const projection::WindowRows& window, const base::Interval& bounds);

  ProjectionOptions options_;
  RecordingFacts facts_;
  std::vector<Busy> devices_, threads_;
  std::int64_t host_ns_ = std::numeric_limits<std::int64_t>::min();  // the host recorded until then, at least
};

}  // namespace rangefinder::analysis
