// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/types.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::importer {

/// Finds what was open on a thread at a time.
class OpenIntervals {
 public:
  struct Interval {
    ThreadIndex thread;
    std::int64_t begin_ns;
    std::int64_t end_ns;  ///< open before it
    std::uint64_t id;
  };
  OpenIntervals() = default;
  /// Of two that begin together the one that stands behind the other counts as inside.
  explicit OpenIntervals(std::vector<Interval> intervals);

  /// The id of the one that began last; 0: none was open.
  std::uint64_t innermost(ThreadIndex thread, std::int64_t time_ns) const noexcept;

 private:
  std::vector<Interval> intervals_;       // by thread and begin
  std::vector<std::int64_t> latest_end_;  // of those of the thread so far
};

}  // namespace rangefinder::importer
