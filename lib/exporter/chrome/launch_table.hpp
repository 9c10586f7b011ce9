// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/flow_writer.hpp"
#include "exporter/chrome/track_table.hpp"
#include "projection/flat_map.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace rangefinder::chrome {

/// A slice that an arrow can begin or end at.
struct SlicePlace {
  TrackId track = kNoTrack;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct NotedLaunch {
  std::uint64_t range = 0;  ///< key of the innermost range; 0: none
  SlicePlace anchor;        ///< of an arrow where no API call is written: the row of the thread, from the launch on
};

/// Launches by correlation id: what they belong to, and the arrows that still lack an end. Bounded: of more launches
/// than any device queues up, the oldest are forgotten.
class LaunchTable {
 public:
  LaunchTable(TrackTable& tracks, FlowWriter& flows, bool arrows) noexcept
      : tracks_(tracks), flows_(flows), arrows_(arrows) {}

  void note(std::uint32_t correlation, const NotedLaunch& launch);
  /// An API call was read; where it stands is told later, by `place_call`.
  void expect_call(std::uint32_t correlation);
  void place_call(std::uint32_t correlation, const SlicePlace& call);
  /// Draws the arrow to an activity, or keeps it until its call is placed.
  void arrow_to(std::uint32_t correlation, const SlicePlace& activity);
  /// The rest: arrows whose call never came.
  void finish();

  /// What was noted of it; null when nothing was.
  const NotedLaunch* find(std::uint32_t correlation) noexcept;

 private:
  enum class Call : std::uint8_t { kNone, kExpected, kPlaced };
  struct Entry {
    NotedLaunch launch;
    SlicePlace call;
    std::uint32_t correlation = 0;
    Call state = Call::kNone;
    bool noted = false;
    bool id_used = false;
    bool is_used = false;  // in the ring
  };
  /// Null when there is none.
  Entry* known(std::uint32_t correlation) noexcept;
  Entry& entry(std::uint32_t correlation);
  void grow();
  void draw(Entry& entry, const SlicePlace& from, const SlicePlace& to);
  void draw_waiting(Entry& entry, const SlicePlace& from);
  void forget_oldest();

  TrackTable& tracks_;
  FlowWriter& flows_;
  bool arrows_;
  // A ring, oldest first from `first_` on: a power of two.
  std::vector<Entry> entries_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t last_place_ = 0;                                          // of the one that was found last
  projection::FlatMap places_;                                          // in the ring, by correlation
  std::unordered_map<std::uint32_t, std::vector<SlicePlace>> waiting_;  // activities, by correlation
};

}  // namespace rangefinder::chrome
