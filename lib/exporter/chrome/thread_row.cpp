// SPDX-License-Identifier: MIT
#include "exporter/chrome/thread_row.hpp"

#include <algorithm>

namespace rangefinder::chrome {

void ThreadRow::forget_before(std::int64_t time_ns) {
  while (first_ < bounds_.size() && bounds_[first_].time_ns < time_ns) ++first_;
  behind_ = std::max(behind_, first_);
  constexpr std::size_t kForgotten = 64;
  if (first_ < kForgotten || first_ < bounds_.size() - first_) return;
  bounds_.erase(bounds_.begin(), bounds_.begin() + static_cast<std::ptrdiff_t>(first_));
  behind_ -= first_;
  first_ = 0;
}

/// Of bounds in order. Calls come in order of their begin: it is the last one, or soon behind it.
std::size_t ThreadRow::first_behind(std::int64_t time_ns) {
  const auto is_before = [time_ns](const Bound& bound) { return bound.time_ns <= time_ns; };
  constexpr std::size_t kNear = 16;
  const std::size_t near = std::min(bounds_.size(), behind_ + kNear);
  const bool is_at_or_behind = behind_ == first_ || is_before(bounds_[behind_ - 1]);
  if (is_at_or_behind)
    while (behind_ < near && is_before(bounds_[behind_])) ++behind_;
  if (!is_at_or_behind || (behind_ == near && near < bounds_.size())) {
    const auto from = bounds_.begin() + static_cast<std::ptrdiff_t>(is_at_or_behind ? behind_ : first_);
    behind_ = static_cast<std::size_t>(std::partition_point(from, bounds_.end(), is_before) - bounds_.begin());
  }
  return behind_;
}

bool ThreadRow::cuts_a_range(std::int64_t begin_ns, std::int64_t end_ns) {
  std::size_t inside = 0;  // ranges that began inside the call and have not ended there
  for (std::size_t at = in_order_ ? first_behind(begin_ns) : first_;
       at < bounds_.size() && bounds_[at].time_ns <= end_ns; ++at) {
    const Bound& bound = bounds_[at];
    if (bound.time_ns <= begin_ns) continue;
    if (!bound.is_end) {
      inside += bound.time_ns < end_ns ? 1 : 0;
    } else if (bound.begin_ns >= begin_ns) {
      inside -= inside > 0 ? 1 : 0;
    } else if (bound.time_ns < end_ns) {
      return true;
    }
  }
  return inside != 0;
}

std::uint32_t ThreadRow::place_call(std::int64_t begin_ns, std::int64_t end_ns) {
  end_ns = std::max(begin_ns, end_ns);
  if (!cuts_a_range(begin_ns, end_ns) && own_.add(begin_ns, end_ns)) return 0;
  return 1 + beside_.add(begin_ns, end_ns);
}

}  // namespace rangefinder::chrome
