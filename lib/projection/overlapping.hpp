// SPDX-License-Identifier: MIT
#pragma once

#include "projection/launch_order.hpp"
#include "projection/range_order.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::projection {

/// A range that does not fit into the tree of its thread, and the activities launched in it: positions [begin, end) in
/// LaunchOrder. However such ranges overlap, what each contains is one stretch of that order.
struct Stretch {
  RangeIndex range;
  std::uint32_t begin;
  std::uint32_t end;
};

/// Follows, launch by launch, the ranges of a thread that overlap others freely: start/end ranges, and scoped ones that
/// cross another (imported traces have them).
class Overlapping {
 public:
  explicit Overlapping(const RangeOrder& order) : order_(order) {}

  void begin_thread(const LaunchOrder& launches, ThreadIndex thread);
  /// Opens the thread's start/end ranges that have begun at `time`, when the activity at `position` was launched.
  void open_until(std::int64_t time, std::uint32_t position) {
    while (next_ < start_end_.size() && order_.ranges().begin_ns[start_end_[next_]] <= time)
      open(start_end_[next_++], position);
  }
  /// Opens a range just before the launch of the activity at `position`.
  void open(RangeIndex range, std::uint32_t position);

  /// The innermost that contains `time`, or kNone. Times may not fall from call to call.
  RangeIndex innermost(std::int64_t time) noexcept {
    while (!open_.empty() && is_past(open_.back(), time)) open_.pop_back();
    return open_.empty() ? kNone : open_.back();
  }
  /// The innermost of those that come before `limit` in order; kNone: no limit.
  RangeIndex innermost_before(std::int64_t time, RangeIndex limit) const noexcept;

  /// Everything opened on this thread.
  const std::vector<Stretch>& stretches() const noexcept { return stretches_; }

 private:
  bool is_past(RangeIndex range, std::int64_t time) const noexcept { return !order_.contains(range, time); }

  const RangeOrder& order_;
  const LaunchOrder* launches_ = nullptr;
  ThreadIndex thread_{0};
  std::span<const RangeIndex> start_end_;
  std::size_t next_ = 0;
  std::vector<RangeIndex> open_;  // in order; ended ones stay until they are on top
  std::vector<Stretch> stretches_;
};

}  // namespace rangefinder::projection
