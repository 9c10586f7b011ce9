// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>

#include <cstddef>
#include <optional>

namespace rangefinder::projection {

/// The public function, with a bound of the caller's on the rows that parts make. Past it the smallest parts of each
/// launch stay together on the range that replays it; the sixteen largest are parts all the same.
std::size_t split_graph_launches(Timeline& timeline, const ProjectionOptions& options, std::size_t most_rows);

/// A copy of the timeline with its launches of graphs divided; nothing where none is.
std::optional<Timeline> with_split_graph_launches(const Timeline& timeline, const ProjectionOptions& options);

/// The public function for a window of time. Behind its own activities stand those of earlier windows by which launches
/// are divided; they are dropped.
void split_graph_launches_of_window(Timeline& window, std::size_t own_activities, const ProjectionOptions& options);

}  // namespace rangefinder::projection
