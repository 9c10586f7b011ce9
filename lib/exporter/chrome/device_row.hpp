// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/end_to_end.hpp"

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace rangefinder::chrome {

/// The row of a stream while its activities come by, and which of the ranges on the device can stand on it with them.
///
/// Activities come in order of their begin, each with the key of the range that owns it. A range lasts from its first
/// to its last activity. Streams work in order, so those spans lie end to end or inside each other as the ranges do on
/// their thread; they cut each other or an activity only where two threads launch on one stream, or activities overlap
/// (branches of a graph). What cuts goes to a row beside.
class DeviceRow {
 public:
  /// The level of the activity. `owner` 0: none.
  std::uint32_t add_activity(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t owner);
  /// True when it is the first of its owner, whose span begins with it.
  bool begins_span() const noexcept { return begins_span_; }

  /// The range is complete. The level of its span; it is forgotten.
  std::uint32_t end_span(std::uint64_t owner, std::int64_t first_ns, std::int64_t last_ns);

 private:
  enum class State : std::uint8_t { kOpen, kClosed, kCuts };
  void note_overlap(std::int64_t begin_ns, std::int64_t end_ns);
  void note_owner(std::uint64_t owner);
  bool inside_overlap(std::int64_t time_ns) const;

  NestedRow own_;
  Rows<NestedRow> beside_;
  EndToEnd spans_beside_;

  /// Owners with activities on this row and no end yet. `open_` nests as their spans do; one that was closed by another
  /// and comes back cuts it.
  std::unordered_map<std::uint64_t, State> owners_;
  std::vector<std::uint64_t> open_;  // innermost last; holds on to some that have ended
  bool begins_span_ = false;

  /// Stretches in which activities overlap, the latest ones.
  std::deque<base::Interval> overlaps_;
  bool forgot_overlaps_ = false;
  bool any_ = false;
  std::int64_t busy_from_ = 0;  // of the stretch without a gap that the last activity belongs to
  std::int64_t busy_to_ = 0;
  bool overlapping_ = false;  // that stretch is the last of `overlaps_`
};

}  // namespace rangefinder::chrome
