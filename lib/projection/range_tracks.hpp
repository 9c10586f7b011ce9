// SPDX-License-Identifier: MIT
#pragma once

#include "projection/busy_blocks.hpp"
#include "projection/figures.hpp"

#include <rangefinder/projection.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::projection {

/// Where an activity ran, as the caller numbers them. A stream belongs to one device; the highest number of each is
/// taken.
struct Place {
  std::uint32_t device = 0;
  std::uint64_t stream = 0;
};

/// Figures of one range on one stream.
struct StreamingStream {
  Place place;
  std::uint64_t gpu_ops = 0;
  std::int64_t gpu_sum_ns = 0;
  std::int64_t gpu_busy_ns = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  bool busy_is_exact = true;  ///< false: an upper bound
};

struct StreamingFigures {
  DeviceFigures total;
  bool busy_is_exact = true;  ///< of `total` and all streams
  std::vector<StreamingStream> streams;
};

/// The figures of one range while activities are still coming: its own, and those of ranges inside it.
class RangeTracks {
 public:
  void add(Place place, const Interval& interval, std::uint64_t bytes, std::int64_t delay, bool own);
  /// Everything of a range inside.
  void add_inner(const RangeTracks& inner);
  void clear() noexcept;
  bool empty() const noexcept { return tracks_.empty(); }

  void exclusive(StreamingFigures& figures) const;
  void inclusive(StreamingFigures& figures) const;

 private:
  /// A stream; a device that has several of them (no stream); all devices, when there are several (neither).
  struct Track {
    Place place;
    Tally own;    // of streams only
    Tally below;  // likewise
    BusyBlocks own_busy;
    BusyBlocks all_busy;  // from the time that something is below; until then all is own
    bool has_below = false;

    void add(const Interval& interval, bool is_own);
    void add_inner(const Track& inner);
    const BusyBlocks& all() const noexcept { return has_below ? all_busy : own_busy; }
  };
  struct Extra {
    std::uint64_t bytes = 0;
    std::int64_t delay = 0;
  };

  Track& stream_track(Place place);
  Track* find(Place place) noexcept;
  /// The track that stands for a device: its own, or that of its only stream. Null: nothing ran there.
  const Track* of_device(std::uint32_t device) const noexcept;
  const Track* of_everything() const noexcept;
  void join(Place joint, const Track* first);
  void figures(StreamingFigures& figures, bool inclusive) const;

  std::vector<Track> tracks_;
  std::size_t latest_ = 0;  // the track used last
  Extra own_;
  Extra below_;
};

}  // namespace rangefinder::projection
