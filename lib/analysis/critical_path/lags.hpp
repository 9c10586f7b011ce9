// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/graph.hpp"

namespace rangefinder::analysis::critical_path {

/// Finds how long after what it waits for each node begins, so that the schedule is as recorded: the edge that ends
/// last has all of the delay. Of the others the delay was not seen; it counts as the least of its kind that was seen
/// on that stream (on that device, where the stream has none), as far as there was time for it.
///
/// Needs Graph::order. O(n).
void find_lags(Graph& graph, std::int64_t usual_gap_ns);

}  // namespace rangefinder::analysis::critical_path
