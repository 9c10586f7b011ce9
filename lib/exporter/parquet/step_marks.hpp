// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::parquet {

/// Which step of a process a time is in, while the steps become known.
class StepMarks {
 public:
  /// From `time_ns` on it is that step; kNoTime: none, a pause. Mostly in order of time.
  void add(std::int64_t time_ns, std::int64_t number) {
    const Mark mark{time_ns, number};
    const auto behind = std::upper_bound(marks_.begin(), marks_.end(), mark,
                                         [](const Mark& a, const Mark& b) { return a.time_ns < b.time_ns; });
    marks_.insert(behind, mark);
    last_ = 0;
  }
  /// kNoTime before the first one and in pauses.
  std::int64_t number_at(std::int64_t time_ns) const noexcept {
    if (last_ < marks_.size() && marks_[last_].time_ns <= time_ns &&
        (last_ + 1 == marks_.size() || time_ns < marks_[last_ + 1].time_ns))
      return marks_[last_].number;
    const auto behind = std::upper_bound(marks_.begin(), marks_.end(), time_ns,
                                         [](std::int64_t time, const Mark& mark) { return time < mark.time_ns; });
    if (behind == marks_.begin()) return kNoTime;
    last_ = static_cast<std::size_t>(behind - marks_.begin()) - 1;
    return marks_[last_].number;
  }

 private:
  struct Mark {
    std::int64_t time_ns;
    std::int64_t number;
  };
  std::vector<Mark> marks_;
  mutable std::size_t last_ = 0;  // times are asked for mostly in order
};

}  // namespace rangefinder::parquet
