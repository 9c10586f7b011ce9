// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/spans.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis::critical_path {

/// A range that is nested (an annotation or an operator), or a call.
struct Frame {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  RangeIndex range = kNone;
  CallIndex call = kNone;
};

/// What threads were in: their ranges and calls, outer ones first. Time without length, and what was over before the
/// recording, are left out.
///
/// Cost: O(n log n); 4 bytes a range and a call.
class ThreadFrames {
 public:
  explicit ThreadFrames(const Timeline& timeline);

  std::size_t thread_count() const noexcept { return first_.size() - 1; }
  std::size_t count_of(ThreadIndex thread) const noexcept { return first_[thread + 1] - first_[thread]; }
  Frame frame(ThreadIndex thread, std::size_t at) const noexcept { return frame_of(ids_[first_[thread] + at]); }
  /// When the thread was in anything: disjoint, in order.
  std::vector<Span> busy(ThreadIndex thread) const;
  /// All begins and ends, in order.
  std::vector<std::int64_t> times(ThreadIndex thread) const;

 private:
  Frame frame_of(std::uint32_t id) const noexcept;

  const Timeline& timeline_;
  std::vector<std::uint32_t> ids_;  // a range, or behind all ranges a call; by thread
  std::vector<std::size_t> first_;
};

}  // namespace rangefinder::analysis::critical_path
