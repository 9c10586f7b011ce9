// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

// What an importer does once all rows are in the tables.
namespace rangefinder::timeline {

/// Joins activities to launches and launches to calls by process and correlation id, and makes a launch of every call
/// that has activities and no noted launch. A correlation id that was used again (they wrap) means the last launch that
/// began before the activity.
void join_launches(Timeline& timeline);

/// Sets begin_ns and end_ns from the tables.
void measure_extent(Timeline& timeline);

/// Puts counters of ranges in order of range, and samples in order of device, metric and begin.
void sort_metrics(Timeline& timeline);

}  // namespace rangefinder::timeline
