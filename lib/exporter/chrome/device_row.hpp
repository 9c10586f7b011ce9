// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/end_to_end.hpp"
#include "exporter/chrome/span_nesting.hpp"

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace rangefinder::chrome {

/// The row of a stream while its activities come by, in order of their begin, and which of the ranges on the device can
/// stand on it with them. A range whose span would cut another one (SpanNesting) goes to a row beside, and so does one
/// that begins or ends inside of an activity, where activities overlap (branches of a graph).
class DeviceRow {
 public:
  using Key = SpanNesting::Key;

  DeviceRow();
  /// The level of the activity.
  std::uint32_t add_activity(std::int64_t begin_ns, std::int64_t end_ns);
  /// Of the same activity; as SpanNesting::add.
  template <typename ParentOf>
  const std::vector<Key>& begin_ranges(Key innermost, ParentOf&& parent_of) {
    return nesting_.add(innermost, std::forward<ParentOf>(parent_of));
  }
  /// The range is complete, and is forgotten. Whether its span can stay on the row.
  bool end_range(Key range, std::int64_t first_ns, std::int64_t last_ns);
  /// The range is complete, and stands on another row.
  void forget_range(Key range) { (void)nesting_.end(range); }

 private:
  void note_overlap(std::int64_t begin_ns, std::int64_t end_ns);
  bool inside_overlap(std::int64_t time_ns) const;

  NestedRow own_;
  Rows<NestedRow> beside_;
  SpanNesting nesting_;

  /// Stretches in which activities overlap, the latest ones.
  std::deque<base::Interval> overlaps_;
  bool forgot_overlaps_ = false;
  bool any_ = false;
  std::int64_t busy_from_ = 0;  // of the stretch without a gap that the last activity belongs to
  std::int64_t busy_to_ = 0;
  bool overlapping_ = false;  // that stretch is the last of `overlaps_`
};

}  // namespace rangefinder::chrome
