// SPDX-License-Identifier: MIT
#include "exporter/chrome/thread_row.hpp"

#include <algorithm>

namespace rangefinder::chrome {

void ThreadRow::forget_before(std::int64_t time_ns) {
  while (!bounds_.empty() && bounds_.front().time_ns < time_ns) bounds_.pop_front();
}

bool ThreadRow::cuts_a_range(std::int64_t begin_ns, std::int64_t end_ns) const {
  const auto is_before = [begin_ns](const Bound& bound) { return bound.time_ns <= begin_ns; };
  const auto first = in_order_ ? std::partition_point(bounds_.begin(), bounds_.end(), is_before) : bounds_.begin();
  std::size_t inside = 0;  // ranges that began inside the call and have not ended there
  for (auto at = first; at != bounds_.end() && at->time_ns <= end_ns; ++at) {
    const Bound& bound = *at;
    if (is_before(bound)) continue;
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
