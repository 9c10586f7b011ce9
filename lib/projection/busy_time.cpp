// SPDX-License-Identifier: MIT
#include "projection/busy_time.hpp"

#include <algorithm>

namespace rangefinder::projection {

std::int64_t BusyTime::add(std::int64_t begin_ns, std::int64_t end_ns) {
  begin_ns = std::max(begin_ns, settled_ns_);
  if (end_ns <= begin_ns) return 0;
  auto& stretches = stretches_;
  if (!stretches.empty() && begin_ns >= stretches.back().begin_ns && begin_ns <= stretches.back().end_ns) {
    const std::int64_t before_ns = stretches.back().end_ns;
    stretches.back().end_ns = std::max(before_ns, end_ns);
    return stretches.back().end_ns - before_ns;
  }
  // The first that it touches; mostly it is behind all of them.
  auto first = stretches.end();
  if (!stretches.empty() && stretches.back().end_ns >= begin_ns)
    first = std::partition_point(stretches.begin(), stretches.end(),
                                 [&](const Stretch& each) { return each.end_ns < begin_ns; });
  if (first == stretches.end() || first->begin_ns > end_ns) {
    stretches.insert(first, {begin_ns, end_ns});
    if (stretches.size() > kMaxStretches) settle_first(kMaxStretches / 2);
    return end_ns - begin_ns;
  }
  Stretch whole{std::min(begin_ns, first->begin_ns), end_ns};
  std::int64_t covered = 0;
  auto last = first;
  for (; last != stretches.end() && last->begin_ns <= end_ns; ++last) {
    covered += last->end_ns - last->begin_ns;
    whole.end_ns = std::max(whole.end_ns, last->end_ns);
  }
  *first = whole;
  stretches.erase(first + 1, last);
  return whole.end_ns - whole.begin_ns - covered;
}

void BusyTime::settle_first(std::size_t count) {
  if (count == 0) return;
  settled_ns_ = stretches_[count - 1].end_ns;
  stretches_.erase(stretches_.begin(), stretches_.begin() + static_cast<std::ptrdiff_t>(count));
}

void BusyTime::settle(std::int64_t time_ns) {
  const auto later = std::partition_point(stretches_.begin(), stretches_.end(),
                                          [&](const Stretch& each) { return each.end_ns <= time_ns; });
  settle_first(static_cast<std::size_t>(later - stretches_.begin()));
}

std::int64_t BusyTime::behind(std::int64_t time_ns) const noexcept {
  std::int64_t length = 0;
  for (auto stretch = stretches_.rbegin(); stretch != stretches_.rend() && stretch->end_ns > time_ns; ++stretch)
    length += stretch->end_ns - std::max(stretch->begin_ns, time_ns);
  return length;
}

}  // namespace rangefinder::projection
