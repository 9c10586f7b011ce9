// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/stragglers.hpp>
#include <rangefinder/timeline.hpp>

namespace rangefinder::analysis {

/// Fills Straggler::range of those that are slow on the host. A rank is compared with at most 32 others.
void find_slow_ranges(const Timeline& timeline, Stragglers& out);

}  // namespace rangefinder::analysis
