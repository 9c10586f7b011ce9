// SPDX-License-Identifier: MIT
#pragma once

#include "advice/host_spans.hpp"

#include <rangefinder/timeline.hpp>

namespace rangefinder::advice {

/// The time that launching calls took because the queue of their stream was full: the host is so far ahead that it goes
/// at the device's pace. It would wait for less if the device were faster.
///
/// O(n log n) in activities.
HostSpans queue_waits(const Timeline& timeline);

}  // namespace rangefinder::advice
