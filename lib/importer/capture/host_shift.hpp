// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/wrapping.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::importer {

/// What is added to a host's times to have them on the clock of the job's first host: by the wall clocks, and beyond
/// that a line between knots, where the hosts' collectives say more.
class HostShift {
 public:
  struct Knot {
    std::int64_t time_ns;  ///< as moved by the wall clocks
    std::int64_t shift_ns;
  };
  explicit HostShift(std::int64_t by_wall_clock_ns = 0) noexcept : wall_(by_wall_clock_ns) {}
  /// In order of time, and never so steep that times would change places.
  void set_knots(std::vector<Knot> knots) { knots_ = std::move(knots); }

  std::int64_t by_wall_clock() const noexcept { return wall_; }
  /// Of a time on the host's own clock.
  std::int64_t at(std::int64_t time_ns) const noexcept {
    return knots_.empty() ? wall_ : wall_ + beyond_wall_clock(detail::plus(time_ns, wall_));
  }
  /// What is added to a time that the wall clocks have moved.
  std::int64_t beyond_wall_clock(std::int64_t time_ns) const noexcept {
    if (knots_.empty()) return 0;
    const auto after = std::upper_bound(knots_.begin(), knots_.end(), time_ns,
                                        [](std::int64_t time, const Knot& knot) { return time < knot.time_ns; });
    if (after == knots_.begin()) return after->shift_ns;
    const Knot& before = after[-1];
    if (after == knots_.end()) return before.shift_ns;
    const auto along =
        static_cast<double>(time_ns - before.time_ns) / static_cast<double>(after->time_ns - before.time_ns);
    return before.shift_ns + static_cast<std::int64_t>(along * static_cast<double>(after->shift_ns - before.shift_ns));
  }

 private:
  std::int64_t wall_;
  std::vector<Knot> knots_;
};

}  // namespace rangefinder::importer
