// SPDX-License-Identifier: MIT
#pragma once

#include "projection/launch_order.hpp"
#include "projection/nesting_figures.hpp"
#include "projection/overlapping.hpp"
#include "projection/range_order.hpp"
#include "projection/result.hpp"

#include <cstdint>
#include <limits>
#include <span>

namespace rangefinder::projection {

/// One pass over a thread's launches and scoped ranges, both in order of time. Finds the owner of every activity and
/// the figures of the ranges that nest; those that do not are left in Overlapping.
class Sweep {
 public:
  Sweep(const Timeline& timeline, const RangeOrder& order, const LaunchOrder& launches, Output& output)
      : order_(order),
        launches_(launches),
        ranges_(order.ranges()),
        overlapping_(order),
        figures_(timeline, launches, output) {}

  /// False when notes contradict times or ranges that carry notes cross each other; then nothing may be used of what it
  /// wrote, and membership.hpp has the answer.
  bool run(ThreadIndex thread);

  const Overlapping& overlapping() const noexcept { return overlapping_; }

 private:
  /// The owner of what `launch` caused; `position` is that of the first activity.
  std::uint32_t visit(LaunchIndex launch, std::uint32_t position);
  void open_until(std::int64_t time, std::uint32_t position);
  void open_next(std::int64_t time, std::uint32_t position);
  void close_until(std::int64_t time);
  bool go_to_noted(RangeIndex target, std::int64_t time, std::uint32_t position);
  bool next_has_begun(std::int64_t time) const noexcept { return next_begin_ <= time && next_ < scoped_.size(); }
  void look_at_next() noexcept {
    next_begin_ = next_ < scoped_.size() ? ranges_.begin_ns[scoped_[next_]] : std::numeric_limits<std::int64_t>::max();
  }
  std::int64_t top_end() const noexcept { return ranges_.end_ns[figures_.top()]; }
  std::uint32_t owner_by_time(std::int64_t time) noexcept;
  std::uint32_t owner_before(RangeIndex limit, std::int64_t time) noexcept;

  const RangeOrder& order_;
  const LaunchOrder& launches_;
  const RangeTable& ranges_;
  Overlapping overlapping_;
  NestingFigures figures_;
  std::span<const RangeIndex> scoped_;
  std::size_t next_ = 0;         // of scoped_
  std::int64_t next_begin_ = 0;  // its begin
  bool has_notes_ = false;
  bool has_start_end_ = false;
  bool contradiction_ = false;
};

}  // namespace rangefinder::projection
