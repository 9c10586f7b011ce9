// SPDX-License-Identifier: MIT
#pragma once

#include "base/intervals.hpp"

#include <cstdint>
#include <limits>
#include <vector>

// Rows for slices that come by one at a time, in bounded memory. nesting.hpp does it for slices that are all there.
namespace rangefinder::chrome {

/// Slices only lie end to end. They may come in any order; one that comes very late may be refused though there was a
/// gap for it.
class FlatRow {
 public:
  bool add(std::int64_t begin_ns, std::int64_t end_ns);

 private:
  std::vector<base::Interval> recent_;                                 // by begin
  std::int64_t closed_to_ = std::numeric_limits<std::int64_t>::min();  // before this nothing is known any more
};

/// Slices lie end to end or inside each other. They come in order of their begin; one that comes too late is refused
/// unless nothing ends behind its begin.
class NestedRow {
 public:
  bool add(std::int64_t begin_ns, std::int64_t end_ns);

 private:
  std::vector<std::int64_t> open_;  // ends, outermost first
  std::int64_t last_begin_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t last_end_ = std::numeric_limits<std::int64_t>::min();
};

/// As many rows of a kind as it takes.
template <typename Row>
class Rows {
 public:
  /// The first row that takes the slice.
  std::uint32_t add(std::int64_t begin_ns, std::int64_t end_ns) {
    // Hostile inputs may need one row per slice; looking through all of them each time would take for ever.
    constexpr std::size_t kLookedAt = 256;
    const std::size_t count = rows_.size();
    for (std::size_t i = 0; i < count && i < kLookedAt; ++i) {
      if (rows_[i].add(begin_ns, end_ns)) return static_cast<std::uint32_t>(i);
    }
    rows_.emplace_back().add(begin_ns, end_ns);
    return static_cast<std::uint32_t>(count);
  }

 private:
  std::vector<Row> rows_;
};

using EndToEnd = Rows<FlatRow>;

}  // namespace rangefinder::chrome
