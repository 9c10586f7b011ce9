// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/graph.hpp"
#include "analysis/critical_path/host_lanes.hpp"
#include "analysis/critical_path/host_waits.hpp"

#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis::critical_path {

/// A rank's part of a collective whose work is done on the host: Gloo's.
struct HostCollective {
  ThreadIndex caller = kNone;
  std::int64_t called_ns = 0;
  std::int64_t all_called_ns = 0;  ///< when the last rank called, where that is known; else `called_ns`
  std::int64_t done_ns = 0;
  std::uint32_t match = kNone;  ///< the same for all parts of one collective
};

/// Of processes without work on a device. Where a thread waits for one, a wait that has its place here as
/// HostWait::collective goes to `waits`.
///
/// Cost: O(n log n) in collectives, and in ranges of such processes.
std::vector<HostCollective> find_host_collectives(const Timeline& timeline, const MatchedCollectives& matched,
                                                  std::vector<HostWait>& waits);

/// Their nodes: from when the last rank called until it was done. Returns them in the order of `collectives`.
std::vector<NodeIndex> add_host_collectives(Graph& graph, const std::vector<HostCollective>& collectives,
                                            EdgeList& edges);

}  // namespace rangefinder::analysis::critical_path
