// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/graph.hpp"
#include "analysis/critical_path/host_waits.hpp"
#include "analysis/critical_path/thread_frames.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace rangefinder::analysis::critical_path {

/// A moment of a thread at which something else begins or ends.
using Cut = std::pair<ThreadIndex, std::int64_t>;

/// Makes the nodes of threads: a thread's time from its first to its last range, call or cut, divided wherever one of
/// these begins or ends. `waits` are of one thread disjoint, by thread and begin. Returns for each wait the node that
/// begins when it is over; kNone where the thread does nothing after it.
///
/// Cost: O(n log n) in cuts.
std::vector<NodeIndex> add_host_lanes(Graph& graph, const ThreadFrames& frames, std::vector<Cut> cuts,
                                      const std::vector<HostWait>& waits);

}  // namespace rangefinder::analysis::critical_path
