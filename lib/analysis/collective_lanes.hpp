// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/timeline.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace rangefinder::analysis {

/// What collectives of several processes are looked for in: of one group; where groups are not told of one stream, by
/// its place among the streams of its process that have collectives. Sends and receives have lanes of their own, by
/// pair.
struct LaneKey {
  std::uint32_t group = kNone;
  std::uint32_t stream = kNone;  ///< kNone: the group is told, or there is no device
  std::int32_t sender = -1;      ///< of pairs: ranks in the group
  std::int32_t receiver = -1;
  auto operator<=>(const LaneKey&) const = default;
};

struct LaneEntry {
  CollectiveIndex collective = kNone;
  std::int64_t begin_ns = 0;  ///< of its work
  std::int64_t end_ns = 0;
  std::int64_t step = -1;  ///< number of the step that it was called in; -1: none
};

/// Of one process, in the order in which its library ran them.
using Lane = std::vector<LaneEntry>;

/// All lanes, by process.
std::map<LaneKey, std::map<ProcessIndex, Lane>> collective_lanes(const Timeline& timeline);

}  // namespace rangefinder::analysis
