// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/stream_lanes.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis::critical_path {

/// A stretch of a thread in which it waits: from `begin_ns` until the last of what it waits for is done, `release_ns`,
/// and until the call that waits has returned, `end_ns`.
struct HostWait {
  ThreadIndex thread = kNone;
  std::int64_t begin_ns = 0;
  std::int64_t release_ns = 0;
  std::int64_t end_ns = 0;
  bool for_thread = false;  ///< for another thread; else for a device
  std::uint32_t first_awaited = 0;
  std::uint32_t awaited_count = 0;
  std::uint32_t collective = kNone;  ///< for a collective on the host: its HostCollective
  bool for_room = false;             ///< in a full launch queue; behind the release the call does its own work
  bool until_begin = false;          ///< until what it waits for has begun, not until it is done
};

/// A stream is told to wait for work of another one.
struct StreamWait {
  ActivityIndex first;  ///< the first work of the stream behind the wait
  ActivityIndex awaited;
};

struct Waits {
  std::vector<HostWait> host;  ///< in no order, and they may overlap
  std::vector<ActivityIndex> awaited;
  std::vector<StreamWait> streams;
};

/// What threads and streams waited for on devices. What was waited for are the last activities of the streams in
/// question that were launched before the wait, and done when it was over. Where the data do not tell the stream, that
/// is what ended last while the call lasted.
///
/// Cost: O(n log n) in synchronisations and calls.
Waits find_waits(const Timeline& timeline, const StreamLanes& lanes);

/// Puts waits in the order of threads and begins; of those of a thread that overlap, the first stays.
void drop_overlaps(std::vector<HostWait>& waits);

}  // namespace rangefinder::analysis::critical_path
