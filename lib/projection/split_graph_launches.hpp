// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>

#include <cstddef>

namespace rangefinder::projection {

/// As the public function, which has no other bound: past `most_rows` rows of parts the smallest of each launch stay
/// together on the range that replays it, but for the sixteen largest.
std::size_t split_graph_launches(Timeline& timeline, const ProjectionOptions& options, std::size_t most_rows);

}  // namespace rangefinder::projection
