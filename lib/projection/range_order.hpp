// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rangefinder::projection {

/// Whether a range that ends at `end` is over at `time`.
inline bool is_over(std::int64_t end, std::int64_t time, RangeEnd rule) noexcept {
  return rule == RangeEnd::kOpen ? end <= time : end < time;
}

/// The ranges that take part, by thread, in the order in which they are candidates for ownership: by begin, the longer
/// first, then by row. Of those that contain a launch the last is the innermost.
class RangeOrder {
 public:
  RangeOrder(const Timeline& timeline, const ProjectionOptions& options);

  std::span<const RangeIndex> scoped(ThreadIndex thread) const noexcept { return scoped_.of(thread); }
  std::span<const RangeIndex> start_end(ThreadIndex thread) const noexcept { return start_end_.of(thread); }

  bool all_take_part() const noexcept { return scoped_.rows.size() + start_end_.rows.size() == ranges_.size(); }
  bool takes_part(RangeIndex range) const noexcept {
    return (kinds_ >> (static_cast<unsigned>(ranges_.kind[range]) & 31u) & 1u) != 0 &&
           (ranges_.flags[range] & kOwnerless) == 0 && ranges_.thread[range] < threads_;
  }
  /// Pushed and popped on one thread. One that ended on another thread counts as a start/end range: it need not nest.
  bool is_scoped(RangeIndex range) const noexcept {
    return ranges_.style[range] == RangeStyle::kScoped && (ranges_.flags[range] & kEndedElsewhere) == 0;
  }
  /// Whether `a` comes before `b` in the order above; both on one thread.
  bool before(RangeIndex a, RangeIndex b) const noexcept {
    if (ranges_.begin_ns[a] != ranges_.begin_ns[b]) return ranges_.begin_ns[a] < ranges_.begin_ns[b];
    if (ranges_.end_ns[a] != ranges_.end_ns[b]) return ranges_.end_ns[a] > ranges_.end_ns[b];
    return a < b;
  }
  bool contains(RangeIndex range, std::int64_t time) const noexcept {
    return ranges_.begin_ns[range] <= time && !is_over(ranges_.end_ns[range], time, rule_);
  }
  /// The smallest end that a range begun earlier must have to enclose this one.
  std::int64_t enclosing_end(RangeIndex range) const noexcept {
    const std::int64_t begin = ranges_.begin_ns[range];
    const bool at_last_instant = begin == std::numeric_limits<std::int64_t>::max();
    // Where ends are open, a range is not open at its own end: an empty range there is not inside.
    const std::int64_t least = rule_ == RangeEnd::kOpen && !at_last_instant ? begin + 1 : begin;
    return std::max(ranges_.end_ns[range], least);
  }

  const RangeTable& ranges() const noexcept { return ranges_; }
  RangeEnd rule() const noexcept { return rule_; }

 private:
  struct ByThread {
    std::vector<RangeIndex> rows;
    std::vector<std::uint32_t> offset;  // per thread, and the end
    std::span<const RangeIndex> of(ThreadIndex thread) const noexcept {
      return {rows.data() + offset[thread], offset[thread + 1] - offset[thread]};
    }
  };
  void collect();
  void sort(ByThread& table) const;

  const RangeTable& ranges_;
  RangeEnd rule_;
  std::size_t threads_;
  unsigned kinds_;  // a bit each
  ByThread scoped_;
  ByThread start_end_;
};

/// For each of `ranges`, which are in order: the last range before it that encloses it, or kNone, into `parent` by row.
/// `chosen(range)` says which may enclose others.
template <typename Chosen>
void find_enclosers(const RangeOrder& order, std::span<const RangeIndex> ranges, std::vector<RangeIndex>& parent,
                    Chosen&& chosen) {
  struct Open {
    std::int64_t end;
    RangeIndex range;
  };
  std::vector<Open> open;  // ends fall from bottom to top
  for (const RangeIndex range : ranges) {
    // What ends too soon for this one ends too soon for all that follow, or is hidden from them by this one.
    const std::int64_t needed = order.enclosing_end(range);
    if (chosen(range)) {
      while (!open.empty() && open.back().end < needed) open.pop_back();
      parent[range] = open.empty() ? kNone : open.back().range;
      open.push_back({order.ranges().end_ns[range], range});
    } else {
      const auto after = std::partition_point(open.begin(), open.end(),
                                              [needed](const Open& candidate) { return candidate.end >= needed; });
      parent[range] = after == open.begin() ? kNone : (after - 1)->range;
    }
  }
}

}  // namespace rangefinder::projection
