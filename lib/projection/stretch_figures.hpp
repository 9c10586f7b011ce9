// SPDX-License-Identifier: MIT
#pragma once

#include "projection/launch_order.hpp"
#include "projection/overlapping.hpp"
#include "projection/result.hpp"

#include <vector>

namespace rangefinder::projection {

/// Inclusive figures of ranges that overlap freely, each a stretch of its thread's launches. One sweep a track answers
/// all of them, in O(log n) a launch and a range, however many overlap.
void find_stretch_figures(const Timeline& timeline, const LaunchOrder& launches, ThreadIndex thread,
                          const std::vector<Stretch>& stretches, Output& output);

}  // namespace rangefinder::projection
