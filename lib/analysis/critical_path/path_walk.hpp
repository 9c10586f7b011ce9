// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/graph.hpp"
#include "analysis/critical_path/schedule.hpp"

#include <rangefinder/analysis/critical_path.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis::critical_path {

/// When a schedule reaches the place; the share of a node's time that was behind it stays behind it.
std::int64_t time_of(const Graph& graph, const Times& times, const CriticalAnchor& anchor);
/// The latest of them; `none` without any.
std::int64_t latest_of(const Graph& graph, const Times& times, const std::vector<CriticalAnchor>& anchors,
                       std::int64_t none);

/// From the end of the window back to its begin: of each node what it waited for last. In order of time. `scale` is
/// that of the times.
std::vector<CriticalSegment> walk_back(const Graph& graph, const Times& times, const CriticalWindow& window,
                                       const CriticalScale& scale);

}  // namespace rangefinder::analysis::critical_path
