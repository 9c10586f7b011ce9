// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rangefinder::compare {

/// What became of a path.
enum class PathFate : std::uint8_t {
  kSame,
  kRenumbered,  ///< its own name has another number: layers.11, layers.12
  kMoved,       ///< it is in another place, or below another level
  kNew,
  kGone,
};

/// The paths of two runs that are the same place in the program.
///
///   train/forward/layers.11/attention  ->  train/forward/encoder/layers.12/attention
///
/// Children of paths that are the same are compared by name. What is left over is compared in order: names that differ
/// in numbers alone, where what is inside is most alike; then a path that holds what was beside it, or the other way
/// round, is a level that was put in, or taken out; last, paths of one name that are left over anywhere, if each side
/// has one.
///
/// Cost: O(n log n) and, of children whose names differ in numbers alone, the product of how many each side has, up to
/// a bound.
struct PathAlignment {
  std::vector<std::uint32_t> candidate_of;  ///< by path of the baseline; kNone: gone
  std::vector<std::uint32_t> baseline_of;   ///< by path of the candidate; kNone: new
};

PathAlignment align_paths(std::span<const PathNode> baseline, std::span<const PathNode> candidate);

/// Of a path of the candidate, or, where that is kNone, of the baseline.
PathFate fate_of(const PathAlignment& alignment, std::span<const PathNode> baseline,
                 std::span<const PathNode> candidate, std::uint32_t in_baseline, std::uint32_t in_candidate);

}  // namespace rangefinder::compare
