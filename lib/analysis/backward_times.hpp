// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// Host time of the nodes of autograd, each without the nodes inside it, by the range that was innermost where the
/// forward operator ran that made the node: what a layer costs in the backward pass on a CPU.
struct BackwardTimes {
  struct Own {
    std::int64_t ns = 0;
    std::uint64_t nodes = 0;
  };
  std::vector<Own> ranges;  ///< parallel to Timeline::ranges; exclusive: of the range itself
  Own accumulation;         ///< nodes without a number: gradients are added up
  Own unmatched;            ///< the forward operator is not in the data
  Own outside;              ///< it ran outside of any range

  /// All of them together: the time of nodes, of which none is inside another.
  Own total;
};

/// Cost: O((n + m) log n) in ranges and nodes.
BackwardTimes backward_times(const Timeline& timeline, const ProjectionOptions& options);

}  // namespace rangefinder::analysis
