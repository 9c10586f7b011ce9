// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/timeline_slices.hpp"

namespace rangefinder::chrome {

/// Arrows from launching calls, or the ranges around them where calls are not written, to activities.
void write_flows(TimelineExport& shared, const TimelineSlices& slices);

}  // namespace rangefinder::chrome
