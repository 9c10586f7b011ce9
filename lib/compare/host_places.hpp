// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/device_states.hpp"
#include "compare/path_numbers.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::compare {

/// Of times that files claim: between any two of what this gives, the distance is a number.
constexpr std::int64_t within(std::int64_t time_ns) noexcept {
  return std::clamp(time_ns, -analysis::kFarthestNs, analysis::kFarthestNs);
}

/// A stretch of a thread's time in which it is in the same place.
struct HostStretch {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t place;  ///< a path, or the name of an operator as a number; kNone: in a range without a path
};

/// Where threads are at each time: in which path, and in which operator. Ranges that end before they begin count for
/// nothing.
class HostPlaces {
 public:
  HostPlaces(const Timeline& timeline, const PathNumbers& paths);

  /// Of one thread: disjoint, in order of time; nothing where it is in no range.
  std::span<const HostStretch> paths_of(ThreadIndex thread) const noexcept { return paths_.of(thread); }
  /// `place` is a StringId.
  std::span<const HostStretch> operators_of(ThreadIndex thread) const noexcept { return operators_.of(thread); }

 private:
  struct Stretches {
    std::vector<HostStretch> all;
    std::vector<std::size_t> first;  // of each thread, and the end
    std::span<const HostStretch> of(ThreadIndex thread) const noexcept {
      if (std::size_t{thread} + 1 >= first.size()) return {};
      return {all.data() + first[thread], first[thread + 1] - first[thread]};
    }
  };
  template <typename PlaceOf>
  static Stretches stretches(const Timeline& timeline, RangeKind kind, PlaceOf place_of);

  Stretches paths_, operators_;
};

/// Calls `use(place, begin_ns, end_ns)` for each part of [begin_ns, end_ns): kNone where no stretch is.
template <typename Use>
void for_each_place(std::span<const HostStretch> stretches, std::int64_t begin_ns, std::int64_t end_ns, Use use) {
  auto at = std::upper_bound(stretches.begin(), stretches.end(), begin_ns,
                             [](std::int64_t time, const HostStretch& stretch) { return time < stretch.end_ns; });
  while (begin_ns < end_ns) {
    const bool inside = at != stretches.end() && at->begin_ns <= begin_ns;
    const std::int64_t next = at == stretches.end() ? end_ns : inside ? at->end_ns : at->begin_ns;
    const std::int64_t until = std::min(end_ns, next);
    use(inside ? at->place : std::uint32_t{kNone}, begin_ns, until);
    if (inside && until == at->end_ns) ++at;
    begin_ns = until;
  }
}

}  // namespace rangefinder::compare
