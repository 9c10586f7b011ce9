// SPDX-License-Identifier: MIT
#pragma once

#include "base/intervals.hpp"
#include "projection/busy_time.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

struct Wait;

/// How long each thread stood still to wait for devices, at once or window by window. A call and the record of its wait
/// may be in two windows: calls are kept until they are over.
class BlockedTimes {
 public:
  /// Of all there is.
  void add(const Timeline& timeline, const base::Interval& bounds);
  /// Of a window; calls and records to come begin at `time_ns` or later. Its tables are as before afterwards.
  void add_window(Timeline& window, const base::Interval& bounds, std::int64_t time_ns);

  std::int64_t of(ThreadIndex thread) const noexcept {
    return thread < threads_.size() ? threads_[thread].blocked_ns : 0;
  }

 private:
  struct Thread {
    projection::BusyTime busy;
    std::int64_t blocked_ns = 0;
    std::int64_t held_from_ns = 0;  // of the window at hand: calls and records from then on are kept
  };

  void take(std::vector<Wait> waits, const base::Interval& bounds);
  void find_held(const Timeline& window, std::int64_t time_ns);
  bool is_held(const Timeline& window, const Wait& wait, std::int64_t time_ns) const;
  void hold(const Timeline& window, const std::vector<Wait>& waits, std::int64_t time_ns);

  std::vector<Thread> threads_;
  std::vector<CallRow> calls_;
  std::vector<SyncRow> syncs_;
};

}  // namespace rangefinder::analysis
