// SPDX-License-Identifier: MIT
#pragma once

#include "projection/coverage.hpp"
#include "projection/figures.hpp"
#include "projection/launch_order.hpp"
#include "projection/result.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::projection {

/// The figures of the ranges that are open, one inside the other, as launches go by. A range that closes hands what it
/// has to the one around it, so every activity is counted once, whatever the depth.
///
/// Busy time is kept per *track*: a stream, a device (when the thread uses several of its streams) and all devices
/// together (when it uses several). Where the activities of a track never overlap it is the sum of durations; elsewhere
/// a Coverage finds it.
class NestingFigures {
 public:
  NestingFigures(const Timeline& timeline, const LaunchOrder& launches, Output& output);

  void begin_thread(ThreadIndex thread);
  /// Closes nothing: forgets what is open, for a thread that is given up.
  void abandon_thread();

  void open(RangeIndex range) {
    levels_.push_back({range, position_, static_cast<std::uint32_t>(touched_.size()), false, {}, {}});
  }
  void close();
  RangeIndex top() const noexcept { return levels_.empty() ? kNone : levels_.back().range; }
  std::size_t depth() const noexcept { return levels_.size(); }
  RangeIndex at(std::size_t level) const noexcept { return levels_[level].range; }
  /// An open range owns something though it is not the innermost: its exclusive figures are left to be found by owner.
  void owns_from_outside(std::size_t level) noexcept { levels_[level].exclusive_by_owner = true; }

  /// Counts an activity for the open ranges: exclusively for the innermost, if that is the owner. To be called for
  /// everything that the thread launched, in order.
  void add(ActivityIndex activity, std::int64_t launch_time, std::uint32_t owner);

 private:
  struct Extra {
    std::uint64_t bytes = 0;
    std::int64_t delay = 0;
    void add(const Extra& other) noexcept {
      bytes += other.bytes;
      delay = plus(delay, other.delay);
    }
  };
  struct Level {
    RangeIndex range;
    std::uint32_t first_position;  // of the first activity inside
    std::uint32_t first_touched;   // in touched_
    bool exclusive_by_owner;
    Extra own;
    Extra below;
  };
  /// What an open range has on one track. `own`: its own activities; `below`: those of closed ranges inside it.
  struct Entry {
    std::uint32_t level = 0;
    std::uint32_t first_position = 0;
    Tally own;
    Tally below;
    std::int64_t covered = 0;  // where the track overlaps: union of all of both
    RunningUnion own_union;
  };
  struct Track {
    bool overlaps = false;        // needs `coverage`
    bool is_whole_device = true;  // a stream: nothing else of its device is used, or never at the same time
    std::vector<Entry> open;      // outermost first
    Coverage coverage;
  };
  struct Closing {
    DeviceFigures exclusive;
    DeviceFigures inclusive;
    bool by_sorting = false;
  };

  Entry& entry(std::uint32_t track);
  void add_unions(StreamIndex stream, Entry& entry, const Interval& interval, bool own);
  void add_union(std::uint32_t track, Entry& entry, const Interval& interval, bool own);
  void close_stream(StreamIndex stream, const Entry& entry, Closing& closing);
  void close_union(std::uint32_t track, const Entry& entry, Closing& closing);
  bool hand_up(Track& track, std::uint32_t level);
  void survey(ThreadIndex thread);
  void forget_final_coverage();

  const Timeline& timeline_;
  const LaunchOrder& launches_;
  Output& output_;
  std::vector<DeviceIndex> device_of_;  // by stream
  std::uint32_t first_device_;          // tracks: streams, then devices from here, then
  std::uint32_t all_devices_;           // everything
  std::vector<Track> tracks_;
  bool plain_;  // no track of the timeline overlaps, whatever a thread uses

  // The thread at hand.
  bool device_unions_ = false;
  bool all_union_ = false;
  std::vector<std::uint32_t> overlapping_;  // its tracks that use their coverage
  std::vector<Level> levels_;
  std::vector<std::uint32_t> touched_;  // tracks with an entry, by level
  std::uint32_t position_ = 0;          // activities so far
  std::uint32_t next_block_ = 0;        // position at which coverage is looked through again
  /// Earliest begin of anything launched from each block of activities on: coverage before that is final.
  std::vector<std::int64_t> earliest_from_;
  static constexpr std::uint32_t kBlock = 4096;
};

}  // namespace rangefinder::projection
