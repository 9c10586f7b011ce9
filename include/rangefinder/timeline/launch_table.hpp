// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

/// How an activity's launch site is known.
enum class LaunchSource : std::uint8_t {
  kUnknown,   ///< not at all
  kCallback,  ///< noted by our callback as the launching call began
  kCall,      ///< the API call with the same correlation id
};

struct LaunchRow {
  using Table = class LaunchTable;

  ProcessIndex process{};
  std::uint64_t correlation = 0;
  ThreadIndex thread{};
  std::int64_t time_ns = 0;
  LaunchSource source = LaunchSource::kUnknown;
  /// The innermost range open at the launch where the recording noted it (exact whatever the clocks do); kNone where it
  /// has to be found by time.
  RangeIndex range = kNone;
  CallIndex call = kNone;  ///< the API call, where one was recorded
};

/// Launch sites, one a correlation id. Written in order of time within a thread.
class LaunchTable : public detail::Table<LaunchTable, LaunchRow> {
 public:
  OptionalTableColumn<&LaunchRow::process> process;
  OptionalTableColumn<&LaunchRow::correlation> correlation;
  TableColumn<&LaunchRow::thread> thread;
  TableColumn<&LaunchRow::time_ns> time_ns;
  TableColumn<&LaunchRow::source> source;
  OptionalTableColumn<&LaunchRow::range> range;
  TableColumn<&LaunchRow::call> call;

  void set_range(LaunchIndex launch, RangeIndex value) { range.set(launch, value); }
  void set_call(LaunchIndex launch, CallIndex value) noexcept { call.values_[launch] = value; }
  /// Moves a launch to another thread and time. Which range was noted there is not known.
  void move(LaunchIndex launch, ThreadIndex to_thread, std::int64_t to_ns) noexcept {
    thread.values_[launch] = to_thread;
    time_ns.values_[launch] = to_ns;
    range.set(launch, kNone);
  }

 private:
  friend detail::Table<LaunchTable, LaunchRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.thread, self.time_ns, self.source, self.call, self.process, self.correlation, self.range);
  }
};

}  // namespace rangefinder
