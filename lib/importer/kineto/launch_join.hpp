// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

namespace rangefinder::importer::kineto {

/// Fills Timeline::launches, in order of time, and ActivityTable::launch: an activity's launch is the API call with its
/// correlation id. Where two calls have the same, it is the earlier, which encloses the other (a runtime call and the
/// driver call inside it). Calls that no activity refers to are no launches.
void join_launches(Timeline& timeline);

}  // namespace rangefinder::importer::kineto
