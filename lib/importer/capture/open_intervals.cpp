// SPDX-License-Identifier: MIT
#include "importer/capture/open_intervals.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rangefinder::importer {

OpenIntervals::OpenIntervals(std::vector<Interval> intervals) : intervals_(std::move(intervals)) {
  std::stable_sort(intervals_.begin(), intervals_.end(), [](const Interval& a, const Interval& b) {
    return std::pair(a.thread, a.begin_ns) < std::pair(b.thread, b.begin_ns);
  });
  latest_end_.reserve(intervals_.size());
  for (std::size_t i = 0; i < intervals_.size(); ++i) {
    const bool is_first = i == 0 || intervals_[i - 1].thread != intervals_[i].thread;
    latest_end_.push_back(is_first ? intervals_[i].end_ns : std::max(intervals_[i].end_ns, latest_end_.back()));
  }
}

std::uint64_t OpenIntervals::innermost(ThreadIndex thread, std::int64_t time_ns) const noexcept {
  const auto after = std::partition_point(intervals_.begin(), intervals_.end(), [&](const Interval& each) {
    return std::pair(each.thread, each.begin_ns) <= std::pair(thread, time_ns);
  });
  for (auto i = static_cast<std::size_t>(after - intervals_.begin()); i-- > 0;) {
    if (intervals_[i].thread != thread || latest_end_[i] <= time_ns) return 0;
    if (intervals_[i].end_ns > time_ns) return intervals_[i].id;
  }
  return 0;
}

}  // namespace rangefinder::importer
