// SPDX-License-Identifier: MIT
#include "projection/overlapping.hpp"

#include <algorithm>

namespace rangefinder::projection {

void Overlapping::begin_thread(const LaunchOrder& launches, ThreadIndex thread) {
  launches_ = &launches;
  thread_ = thread;
  start_end_ = order_.start_end(thread);
  next_ = 0;
  open_.clear();
  stretches_.clear();
}

void Overlapping::open(RangeIndex range, std::uint32_t position) {
  const std::int64_t end = order_.ranges().end_ns[range];
  const ActivityOrder activities = launches_->of(thread_);
  std::uint32_t inside = position;  // its activities are [position, inside)
  for (std::uint32_t past = activities.size(); inside < past;) {
    const std::uint32_t middle = inside + (past - inside) / 2;
    if (is_over(end, launches_->time(launches_->launch_of(activities[middle])), order_.rule()))
      past = middle;
    else
      inside = middle + 1;
  }
  if (inside == position) return;
  stretches_.push_back({range, position, inside});
  const auto place = std::upper_bound(open_.begin(), open_.end(), range,
                                      [this](RangeIndex a, RangeIndex b) { return order_.before(a, b); });
  open_.insert(place, range);
}

RangeIndex Overlapping::innermost_before(std::int64_t time, RangeIndex limit) const noexcept {
  for (auto range = open_.rbegin(); range != open_.rend(); ++range)
    if ((limit == kNone || order_.before(*range, limit)) && !is_past(*range, time)) return *range;
  return kNone;
}

}  // namespace rangefinder::projection
