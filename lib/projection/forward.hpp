// SPDX-License-Identifier: MIT
#pragma once

#include "projection/range_order.hpp"

#include <rangefinder/projection.hpp>

#include <vector>

namespace rangefinder::projection {

/// Attribution `forward` moves launches: one by a node of autograd counts as made where and when the forward operator
/// ran that had made the node. Who owns it is then found as for every other launch.
struct ForwardLaunches {
  LaunchTable launches;    ///< as the timeline's, row by row
  std::vector<Pass> pass;  ///< by row
};

ForwardLaunches launches_of_forward(const Timeline& timeline, const RangeOrder& order);

}  // namespace rangefinder::projection
