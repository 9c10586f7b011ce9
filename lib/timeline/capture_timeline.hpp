// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <string>
#include <vector>

namespace rangefinder::timeline {

/// Reads captures into one timeline: a file, or all captures of a folder as the processes of one job. Captures of one
/// host share its CLOCK_MONOTONIC; those of other hosts are moved by the difference of their wall clocks, and by what
/// their collectives say beyond that. Notes say how each clock is known, and which ranks are missing.
Result<Timeline> load_captures(const std::vector<std::string>& paths, const LoadOptions& options);

/// Joins activities to launches and launches to calls by process and correlation id, and makes a launch of every call
/// that has activities and no noted launch. A correlation id that was used again (they wrap) means the last launch that
/// began before the activity. For importers, too.
void join_launches(Timeline& timeline);

/// Sets begin_ns and end_ns from the tables.
void measure_extent(Timeline& timeline);

/// Puts counters of ranges in order of range, and samples in order of device, metric and begin.
void sort_metrics(Timeline& timeline);

}  // namespace rangefinder::timeline
