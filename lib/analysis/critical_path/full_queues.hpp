// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/host_waits.hpp"
#include "analysis/critical_path/stream_lanes.hpp"

#include <rangefinder/timeline.hpp>

namespace rangefinder::analysis::critical_path {

/// Adds the waits of launch calls for room in a full launch queue. The driver lets the host run about a thousand
/// launches ahead of a stream; then a launch call returns when the device has taken earlier work. How many launches a
/// queue holds is no fixed number: a queue was full where as many were not done as ever in the recording, and calls
/// that launched took much longer there than they usually do, again and again. The end of what such a call takes
/// usually is its own time; before that it waits for the activity that began or ended next to that moment.
///
/// A queue is one stream's, or all streams of a device share it: whichever explains more calls.
///
/// Cost: O(n log n) in launches and activities; 16 bytes for each begin and end of activities of queues that were full.
void add_queue_waits(const Timeline& timeline, const StreamLanes& lanes, Waits& waits);

}  // namespace rangefinder::analysis::critical_path
