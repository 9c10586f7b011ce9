// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rangefinder::projection {

/// Length of the union of intervals that arrive in any order, as long as none reaches back behind the time until which
/// it is settled. In order of their begin they take constant time each.
class BusyTime {
 public:
  /// Gives what of it no interval before has covered.
  std::int64_t add(std::int64_t begin_ns, std::int64_t end_ns);
  /// Intervals to come begin at that time or later.
  void settle(std::int64_t time_ns);
  /// Length of what was covered behind that time, which has not been settled.
  std::int64_t behind(std::int64_t time_ns) const noexcept;
  bool is_settled() const noexcept { return stretches_.empty(); }

 private:
  // What comes later than so many stretches behind counts where the newer ones leave room.
  static constexpr std::size_t kMaxStretches = std::size_t{1} << 14;
  struct Stretch {
    std::int64_t begin_ns;
    std::int64_t end_ns;
  };
  void settle_first(std::size_t count);

  std::int64_t settled_ns_ = std::numeric_limits<std::int64_t>::min();  // stretches until then are no longer here
  std::vector<Stretch> stretches_;                                      // apart from each other and in order
};

}  // namespace rangefinder::projection
