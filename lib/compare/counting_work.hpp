// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/device_states.hpp"

#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::compare {

/// What an activity does, in the order in which it counts where several run at the same time.
enum class WorkClass : std::uint8_t { kComputation, kCommunication, kCopy };
inline constexpr std::size_t kWorkClasses = 3;

inline WorkClass class_of(std::uint8_t device_work) noexcept {
  if ((device_work & analysis::kComputing) != 0) return WorkClass::kComputation;
  return (device_work & analysis::kCommunicating) != 0 ? WorkClass::kCommunication : WorkClass::kCopy;
}

/// Which activity of a device counts at each moment: of those that run, one of the first class, and of these the one
/// that began first. Calls `use(activity, class, begin_ns, end_ns)` for disjoint stretches in order of time.
///
/// O(activities): of each class those that have begun stand in line, and those that are over leave it when they are the
/// first.
template <typename Use>
class CountingWork {
 public:
  CountingWork(const analysis::DeviceStates& states, Use use) : states_(states), use_(use) {}

  /// All of one device, in order of begin.
  void run(std::span<const ActivityIndex> activities) {
    now_ns_ = -analysis::kFarthestNs;
    for (const ActivityIndex activity : activities) {
      advance(states_.begin_ns(activity));
      if (states_.begin_ns(activity) < states_.end_ns(activity))
        lines_[static_cast<std::size_t>(class_of(states_.work_of(activity)))].waiting.push_back(activity);
    }
    advance(analysis::kFarthestNs);
  }

 private:
  struct Line {
    std::vector<ActivityIndex> waiting;
    std::size_t first = 0;
  };

  /// Without those that are over; kNone: nothing runs.
  ActivityIndex first_running(Line& line) const {
    while (line.first < line.waiting.size() && states_.end_ns(line.waiting[line.first]) <= now_ns_) ++line.first;
    if (line.first < line.waiting.size()) return line.waiting[line.first];
    line = {};
    return kNone;
  }
  void advance(std::int64_t to_ns) {
    while (now_ns_ < to_ns) {
      std::size_t line = 0;
      ActivityIndex activity = kNone;
      for (; line < kWorkClasses && activity == kNone; ++line) activity = first_running(lines_[line]);
      const std::int64_t begin_ns = now_ns_;
      now_ns_ = activity == kNone ? to_ns : std::min(to_ns, states_.end_ns(activity));
      if (activity != kNone) use_(activity, static_cast<WorkClass>(line - 1), begin_ns, now_ns_);
    }
  }

  const analysis::DeviceStates& states_;
  Use use_;
  std::array<Line, kWorkClasses> lines_;
  std::int64_t now_ns_ = 0;
};

}  // namespace rangefinder::compare
