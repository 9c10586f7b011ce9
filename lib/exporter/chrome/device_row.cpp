// SPDX-License-Identifier: MIT
#include "exporter/chrome/device_row.hpp"

#include <algorithm>

namespace rangefinder::chrome {
namespace {

// Far more ranges than wait for their activities on one stream, and stretches that a span still to come can end in.
// What is forgotten counts as cut: the span then stands beside.
constexpr std::size_t kMaxRanges = std::size_t{1} << 17;
constexpr std::size_t kMaxOverlaps = std::size_t{1} << 14;

}  // namespace

DeviceRow::DeviceRow() : nesting_(kMaxRanges) {}

std::uint32_t DeviceRow::add_activity(std::int64_t begin_ns, std::int64_t end_ns) {
  end_ns = std::max(begin_ns, end_ns);
  note_overlap(begin_ns, end_ns);
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
  if (overlaps_.size() > kMaxOverlaps) {
    overlaps_.pop_front();
    forgot_overlaps_ = true;
  }
}

bool DeviceRow::inside_overlap(std::int64_t time_ns) const {
  const auto after = std::upper_bound(overlaps_.begin(), overlaps_.end(), time_ns,
                                      [](std::int64_t time, const base::Interval& o) { return time < o.begin; });
  if (after == overlaps_.begin()) return forgot_overlaps_;
  const base::Interval& overlap = *(after - 1);
  return overlap.begin < time_ns && time_ns < overlap.end;
}

bool DeviceRow::end_range(Key range, std::int64_t first_ns, std::int64_t last_ns) {
  return nesting_.end(range) && !inside_overlap(first_ns) && !inside_overlap(last_ns);
}

}  // namespace rangefinder::chrome
