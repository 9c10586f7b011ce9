// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/graph.hpp"
#include "analysis/critical_path/stream_lanes.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace rangefinder::analysis::critical_path {

/// Work that one launch puts on several streams, which is what CUDA graphs do. Recordings have no edges of graphs; what
/// is certain is that no node begins before the work in front of the launch is done, and that the next work of the
/// stream begins after all nodes. Beyond that a node that begins on another stream, or later than right behind the one
/// before it, is taken to begin after the node of the graph that ended last.
///
/// Adds a node for the end of each such launch.
///
/// Cost: O(n log n) in the activities of such launches.
void add_graph_launches(Graph& graph, const StreamLanes& lanes, EdgeList& edges);

/// Of each such launch, the last activity on the stream that it was launched on, and when all of it was done. In order.
std::vector<std::pair<ActivityIndex, std::int64_t>> ends_of_graph_launches(const Timeline& timeline,
                                                                           const StreamLanes& lanes);

}  // namespace rangefinder::analysis::critical_path
