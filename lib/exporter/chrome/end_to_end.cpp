// SPDX-License-Identifier: MIT
#include "exporter/chrome/end_to_end.hpp"

#include <algorithm>

namespace rangefinder::chrome {

bool FlatRow::add(std::int64_t begin_ns, std::int64_t end_ns) {
  const base::Interval slice{begin_ns, std::max(begin_ns, end_ns)};
  if (slice.begin < closed_to_) return false;
  const auto after = std::upper_bound(recent_.begin(), recent_.end(), slice.begin,
                                      [](std::int64_t begin, const base::Interval& s) { return begin < s.begin; });
  if (after != recent_.end() && after->begin < slice.end) return false;
  if (after != recent_.begin() && (after - 1)->end > slice.begin) return false;
  recent_.insert(after, slice);
  constexpr std::size_t kRecent = 128;
  if (recent_.size() < kRecent) return true;
  closed_to_ = recent_[kRecent / 2 - 1].end;
  recent_.erase(recent_.begin(), recent_.begin() + kRecent / 2);
  return true;
}

bool NestedRow::add(std::int64_t begin_ns, std::int64_t end_ns) {
  end_ns = std::max(begin_ns, end_ns);
  if (begin_ns < last_begin_ && begin_ns < last_end_) return false;
  // Also of one that is refused: what is forgotten here could be cut by an earlier one.
  last_begin_ = std::max(last_begin_, begin_ns);
  while (!open_.empty() && open_.back() <= begin_ns) open_.pop_back();
  if (!open_.empty() && open_.back() < end_ns) return false;
  open_.push_back(end_ns);
  last_end_ = std::max(last_end_, end_ns);
  return true;
}

}  // namespace rangefinder::chrome
