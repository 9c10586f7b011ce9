// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/wrapping.hpp>
#include <rangefinder/projection.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace rangefinder::projection {

using detail::minus;
using detail::plus;

/// An activity's interval; one that ends before it begins has no length.
struct Interval {
  std::int64_t begin;
  std::int64_t end;

  Interval(std::int64_t from, std::int64_t to) noexcept : begin(from), end(std::max(from, to)) {}
  std::int64_t length() const noexcept { return minus(end, begin); }
};

/// What adds up without looking at overlap.
struct Tally {
  std::uint64_t ops = 0;
  std::int64_t sum = 0;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();

  void add(const Interval& interval) noexcept {
    ++ops;
    sum = plus(sum, interval.length());
    first = std::min(first, interval.begin);
    last = std::max(last, interval.end);
  }
  void add(const Tally& other) noexcept {
    ops += other.ops;
    sum = plus(sum, other.sum);
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

/// Length of a union of intervals that arrive ordered by begin; `sorted` tells whether they did.
struct RunningUnion {
  std::int64_t busy = 0;
  std::int64_t last_begin = std::numeric_limits<std::int64_t>::min();
  std::int64_t covered_to = std::numeric_limits<std::int64_t>::min();
  bool sorted = true;

  void add(const Interval& interval) noexcept {
    sorted = sorted && interval.begin >= last_begin;
    last_begin = interval.begin;
    if (interval.end <= covered_to) return;
    busy = plus(busy, minus(interval.end, std::max(interval.begin, covered_to)));
    covered_to = interval.end;
  }
};

/// Adds the figures of one stream to those of the whole; busy is left to the caller.
inline void add_tally(DeviceFigures& figures, const Tally& tally) noexcept {
  if (tally.ops == 0) return;
  figures.first_ns = figures.gpu_ops == 0 ? tally.first : std::min(figures.first_ns, tally.first);
  figures.last_ns = figures.gpu_ops == 0 ? tally.last : std::max(figures.last_ns, tally.last);
  figures.gpu_ops += tally.ops;
  figures.gpu_sum_ns = plus(figures.gpu_sum_ns, tally.sum);
}

inline StreamFigures stream_figures(RangeIndex range, StreamIndex stream, const Tally& tally,
                                    std::int64_t busy) noexcept {
  return {range, stream, tally.ops, tally.sum, busy, tally.first, tally.last};
}

}  // namespace rangefinder::projection
