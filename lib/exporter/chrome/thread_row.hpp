// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/end_to_end.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rangefinder::chrome {

/// The row of a thread while its ranges and API calls come by. Ranges nest by construction and stay. Calls have times
/// of another clock: one that cuts a range, by the clocks' error, goes to a row beside.
///
/// Order: ranges as the thread wrote them; calls by begin, each after all ranges that began or ended before its end.
class ThreadRow {
 public:
  void range_begins(std::int64_t time_ns) { add({time_ns, time_ns, false}); }
  void range_ends(std::int64_t begin_ns, std::int64_t end_ns) { add({end_ns, begin_ns, true}); }
  /// No call that is still to come begins before `time_ns`.
  void forget_before(std::int64_t time_ns);

  /// The level of a call: 0 the row itself.
  std::uint32_t place_call(std::int64_t begin_ns, std::int64_t end_ns);

 private:
  struct Bound {
    std::int64_t time_ns;
    std::int64_t begin_ns;  // of the range
    bool is_end;
  };
  void add(const Bound& bound) {
    in_order_ = in_order_ && (first_ == bounds_.size() || bounds_.back().time_ns <= bound.time_ns);
    bounds_.push_back(bound);
  }
  std::size_t first_behind(std::int64_t time_ns);
  bool cuts_a_range(std::int64_t begin_ns, std::int64_t end_ns);

  std::vector<Bound> bounds_;
  std::size_t first_ = 0;   ///< those before it are forgotten
  std::size_t behind_ = 0;  ///< the first one behind the begin of the last call
  bool in_order_ = true;    ///< of time; false only where a file is damaged
  NestedRow own_;
  Rows<NestedRow> beside_;
};

}  // namespace rangefinder::chrome
