// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// Device time by Pass, durations added up, nanoseconds.
using PassTimes = std::array<std::int64_t, kPasses>;

/// Device time of each range and of what is inside it that is an estimate (ActivityTable::estimated); empty where none
/// is.
std::vector<std::int64_t> estimated_times_of_ranges(const Timeline& timeline, const Projection& projection);

/// Operations of each range and of what is inside it that are of graphs with conditional nodes, of which there may have
/// been more (Timeline::is_lower_bound); empty where there are no such graphs.
std::vector<std::int64_t> conditional_ops_of_ranges(const Timeline& timeline, const Projection& projection);

/// Of each range with all that is inside it; those without such time take little memory.
class RangePassTimes {
 public:
  /// Unless the projection is by Attribution::kForward.
  bool empty() const noexcept { return place_.empty(); }
  const PassTimes& operator[](RangeIndex range) const noexcept {
    static constexpr PassTimes kNoTimes{};
    return place_[range] == 0 ? kNoTimes : rows_[place_[range] - 1];
  }

 private:
  friend RangePassTimes pass_times_of_ranges(const Timeline& timeline, const Projection& projection);
  PassTimes& at(RangeIndex range);

  std::vector<std::uint32_t> place_;  // by range: its row, counted from 1
  std::vector<PassTimes> rows_;
};
RangePassTimes pass_times_of_ranges(const Timeline& timeline, const Projection& projection);
/// Of all activities whose launch is known, owned or not; zero likewise.
PassTimes pass_times_of_all(const Timeline& timeline, const Projection& projection);

/// Parallel to Projection::exclusive_streams and inclusive_streams; both empty likewise.
struct StreamPassTimes {
  std::vector<PassTimes> exclusive;
  std::vector<PassTimes> inclusive;
};
StreamPassTimes pass_times_of_streams(const Timeline& timeline, const Projection& projection);

}  // namespace rangefinder::analysis
