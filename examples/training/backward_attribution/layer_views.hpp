// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace examples {

/// What a layer costs, seen in three ways; nanoseconds, all steps added up.
struct LayerViews {
  std::string layer;
  std::int64_t host_ns = 0;     ///< the clock around the layer's range
  std::int64_t launch_ns = 0;   ///< work launched while the range was open
  std::int64_t forward_ns = 0;  ///< that, and the work of the backward pass that the layer's forward pass made
};

/// Of the ranges that are called so. Work is device time; where nothing ran on a device it is the time that operators
/// and nodes of autograd took on their threads.
std::vector<LayerViews> layer_views(const rangefinder::Timeline& timeline, const std::vector<std::string>& layers);

}  // namespace examples
