// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rangefinder::projection {

/// Tells apart, of activities without an owner, what was launched before the recording and what is not known.
/// docs/explanation/projection.md has the definition.
///
/// Correlation ids grow with every API call of a process; within 32 bits they may wrap around.
class LaunchBounds {
 public:
  /// `windows` in any order, may overlap; none: the recording was on all the time. A device time may be off by
  /// `clock_error_ns` against host times.
  LaunchBounds(std::span<const Window> windows, std::int64_t clock_error_ns);

  /// One more window, none of which begins later; what overlaps is joined.
  void add_window(const Window& window);
  /// An API call or launch of the data. Correlation 0 says nothing.
  void add_call(ProcessIndex process, std::uint64_t correlation, std::int64_t time_ns);

  /// Of an activity whose launch is not in the data: kBefore or kUnknown. After all calls were added.
  Unowned without_launch(ProcessIndex process, std::uint64_t correlation, std::int64_t begin_ns) const;
  /// Of an activity whose launch is known and lies in no range: kOutside, or kBefore where the recording was off then.
  Unowned without_range(std::int64_t launch_ns, std::int64_t begin_ns) const noexcept;

 private:
  /// The calls of one window.
  struct Bounds {
    std::uint32_t window;
    std::int64_t low;  // relative to Process::origin
    std::int64_t high;
  };
  struct Process {
    bool any = false;
    std::uint64_t origin = 0;
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    std::vector<Bounds> bounds;  // by window
  };
  static std::int64_t relative(std::uint64_t correlation, std::uint64_t origin) noexcept;
  /// Windows that have begun at `time_ns`.
  std::uint32_t begun(std::int64_t time_ns) const noexcept;

  std::vector<Window> windows_;  // disjoint, in order
  std::int64_t clock_error_;
  std::vector<Process> processes_;
};

}  // namespace rangefinder::projection
