// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace rangefinder::chrome {

/// A slice that wants to be on a track.
struct Placed {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t row = 0;    ///< whatever the caller likes; the last tie-breaker
  std::uint8_t order = 0;   ///< of slices with equal times, the one with the lower order is outside
  std::uint8_t weight = 0;  ///< of slices that cut each other, the one with the higher weight stays
  std::uint32_t level = 0;  ///< out: 0 for the track itself, 1 and up for the rows of overflow beside it
};

/// Viewers draw a track as slices inside slices. Two that overlap in part cannot both be on it: Perfetto drops one,
/// others draw one over the other. Sets `level` so that on every level any two slices are disjoint or one lies inside
/// the other, and sorts by begin, outer slices first.
///
/// Of two slices that cut each other, the lighter one goes a level up; of equal ones, the one that begins later.
void nest(std::vector<Placed>& slices);

}  // namespace rangefinder::chrome
