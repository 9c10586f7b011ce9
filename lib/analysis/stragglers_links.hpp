// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/analysis/stragglers.hpp>
#include <rangefinder/timeline.hpp>

namespace rangefinder::analysis {

/// Ranks whose collectives are slow in all their groups, added to `out.stragglers`; fills
/// RankScore::communication_excess_ns. Latencies of groups of one size are compared for collectives of one kind and
/// size; there must be three groups or more. Slow groups that no single rank explains are noted.
void find_slow_links(const Timeline& timeline, const MatchedCollectives& matched, const StragglerOptions& options,
                     Stragglers& out);

}  // namespace rangefinder::analysis
