// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/device_states.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis {

/// Times come from files: one that is farther than kFarthestNs becomes that.
inline std::int64_t within_reach(std::int64_t time_ns) noexcept {
  return std::clamp(time_ns, -kFarthestNs, kFarthestNs);
}

/// Activities by stream, in order of begin; of those that begin together the one of the first row. Their times are
/// within kFarthestNs of 0.
///
/// Cost: O(n log n); 4 bytes an activity.
class ActivitiesByStream {
 public:
  explicit ActivitiesByStream(const Timeline& timeline);

  std::span<const ActivityIndex> of(StreamIndex stream) const noexcept {
    return {order_.data() + first_[stream], first_[stream + 1] - first_[stream]};
  }
  std::int64_t begin_ns(ActivityIndex activity) const noexcept { return within_reach(activities_.begin_ns[activity]); }
  /// Not before the begin.
  std::int64_t end_ns(ActivityIndex activity) const noexcept {
    return std::max(begin_ns(activity), within_reach(activities_.end_ns[activity]));
  }
  std::int64_t length_ns(ActivityIndex activity) const noexcept { return end_ns(activity) - begin_ns(activity); }

 private:
  const ActivityTable& activities_;
  std::vector<std::size_t> first_;  // of each stream in order_, and the end
  std::vector<ActivityIndex> order_;
};

}  // namespace rangefinder::analysis
