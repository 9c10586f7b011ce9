// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// Why no range owns an activity. Each that no range owns has one reason.
enum class UnattributedReason : std::uint8_t {
  kOwned,  ///< a range does
  // Account::outside; with Attribution::kForward the first four, with kLaunch the fifth.
  kMadeOutside,    ///< by a node of autograd, and no range was open where its forward operator ran
  kUnmatched,      ///< by a node whose forward operator is not in the data, outside of any range
  kAccumulation,   ///< by a node that adds up gradients, outside of any range
  kNoNumber,       ///< by another node without a number, outside of any range
  kDuringNode,     ///< launched while a node of autograd ran, outside of any range
  kNoRanges,       ///< on a thread on which no range begins
  kAheadOfRanges,  ///< before the first range of its thread
  kBetweenRanges,  ///< between ranges of its thread
  kBehindRanges,   ///< after the last range of its thread
  // Account::before.
  kBefore,
  // Account::unknown.
  kNoCorrelation,  ///< nothing tells which call launched it
  kNoCall,         ///< the call that launched it is not in the data
};
inline constexpr std::size_t kUnattributedReasons = 13;

/// One for each activity. `options` are those of the projection.
///
/// O(n log n) in ranges, nodes and launches, O(n) in activities.
std::vector<UnattributedReason> unattributed_reasons(const Timeline& timeline, const Projection& projection,
                                                     const ProjectionOptions& options);

}  // namespace rangefinder::analysis
