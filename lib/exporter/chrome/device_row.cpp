// SPDX-License-Identifier: MIT
#include "exporter/chrome/device_row.hpp"

#include <algorithm>

namespace rangefinder::chrome {
namespace {

// Far more ranges than wait for their activities on one stream, and stretches that a span still to come can end in.
// What is forgotten counts as cut: the span then stands beside.
constexpr std::size_t kMostOwners = std::size_t{1} << 17;
constexpr std::size_t kMostOverlaps = std::size_t{1} << 14;

}  // namespace

std::uint32_t DeviceRow::add_activity(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t owner) {
  end_ns = std::max(begin_ns, end_ns);
  note_overlap(begin_ns, end_ns);
  begins_span_ = false;
  if (owner != 0) note_owner(owner);
  return own_.add(begin_ns, end_ns) ? 0 : 1 + beside_.add(begin_ns, end_ns);
}

void DeviceRow::note_overlap(std::int64_t begin_ns, std::int64_t end_ns) {
  if (!any_ || begin_ns >= busy_to_) {
    any_ = true;
    overlapping_ = false;
    busy_from_ = begin_ns;
    busy_to_ = end_ns;
    return;
  }
  busy_from_ = std::min(busy_from_, begin_ns);  // earlier only when it comes late
  busy_to_ = std::max(busy_to_, end_ns);
  if (overlapping_) overlaps_.pop_back();
  overlapping_ = true;
  while (!overlaps_.empty() && overlaps_.back().end > busy_from_) {
    busy_from_ = std::min(busy_from_, overlaps_.back().begin);
    overlaps_.pop_back();
  }
  overlaps_.push_back({busy_from_, busy_to_});
  if (overlaps_.size() > kMostOverlaps) {
    overlaps_.pop_front();
    forgot_overlaps_ = true;
  }
}

void DeviceRow::note_owner(std::uint64_t owner) {
  if (owners_.size() >= kMostOwners) {
    owners_.clear();
    open_.clear();
  }
  const auto [found, added] = owners_.try_emplace(owner, State::kOpen);
  begins_span_ = added;
  if (added) {
    open_.push_back(owner);
  } else if (found->second == State::kOpen) {
    // Everything that began inside it and is over, for all that this row knows.
    for (; open_.back() != owner; open_.pop_back()) {
      if (const auto inner = owners_.find(open_.back()); inner != owners_.end()) inner->second = State::kClosed;
    }
  } else {
    found->second = State::kCuts;
  }
}

bool DeviceRow::inside_overlap(std::int64_t time_ns) const {
  const auto after = std::upper_bound(overlaps_.begin(), overlaps_.end(), time_ns,
                                      [](std::int64_t time, const base::Interval& o) { return time < o.begin; });
  if (after == overlaps_.begin()) return forgot_overlaps_;
  const base::Interval& overlap = *(after - 1);
  return overlap.begin < time_ns && time_ns < overlap.end;
}

std::uint32_t DeviceRow::end_span(std::uint64_t owner, std::int64_t first_ns, std::int64_t last_ns) {
  const auto found = owners_.find(owner);
  const bool known = found != owners_.end();
  const bool cuts = !known || found->second == State::kCuts;
  if (known) owners_.erase(found);
  constexpr std::size_t kSlack = 64;
  if (open_.size() > 2 * owners_.size() + kSlack)
    std::erase_if(open_, [&](std::uint64_t key) { return !owners_.contains(key); });
  if (!cuts && !inside_overlap(first_ns) && !inside_overlap(last_ns)) return 0;
  return 1 + spans_beside_.add(first_ns, last_ns);
}

}  // namespace rangefinder::chrome
