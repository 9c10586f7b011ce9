// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

namespace rangefinder::timeline {

/// Whose correlation ids a file tells apart.
enum class CorrelationScope { kFile, kProcess };

/// For files that note no launches of their own: fills Timeline::launches, in order of time, and ActivityTable::launch.
/// An activity's launch is the API call with its correlation id. Of several calls with the same one it is the outermost
/// (a runtime call, and not the driver call inside it). Calls that no activity refers to are no launches.
void make_launches_of_calls(Timeline& timeline, CorrelationScope scope);

}  // namespace rangefinder::timeline
