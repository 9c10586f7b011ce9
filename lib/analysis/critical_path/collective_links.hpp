// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/graph.hpp"

#include <rangefinder/analysis/collectives.hpp>

namespace rangefinder::analysis::critical_path {

/// Kernels of one collective on several ranks: none is done before the last rank has come. The part of a kernel until
/// then is a wait, the rest its transfer. Of jobs whose ranks' clocks can be compared.
///
/// O(parts + activities).
void add_collective_links(Graph& graph, const MatchedCollectives& matched, EdgeList& edges);

}  // namespace rangefinder::analysis::critical_path
