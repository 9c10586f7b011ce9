// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/blocked_times.hpp"
#include "analysis/range_rollup.hpp"
#include "analysis/recording_totals.hpp"
#include "report/footer.hpp"
#include "report/projected_timeline.hpp"
#include "report/text_table.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rangefinder::report {

/// What a newcomer wants to know before any table.
struct Overview {
  struct Owner {
    std::string name;
    std::int64_t self_ns = 0;  ///< of the device; where that did nothing, of the host
    std::int64_t share = 0;    ///< tenths of a percent of all device time, or of all ranges' own host time
  };

  std::int64_t recorded_ns = 0;
  std::uint64_t steps = 0;
  bool device_worked = false;
  std::vector<analysis::RecordingFigures::Device> devices;
  ThreadIndex thread = kNone;  ///< the one with most time in ranges
  std::int64_t in_ranges_ns = 0;
  std::uint32_t threads_in_ranges = 0;  ///< that have ranges
  std::int64_t all_in_ranges_ns = 0;    ///< their time in ranges, added up
  std::int64_t blocked_ns = 0;          ///< what of its time it waited for devices
  std::vector<Owner> largest;           ///< three at most
  std::uint64_t lost = 0;               ///< sum of the counters of losses
  std::string next_options;             ///< what to add to `rangefinder report FILE`
  std::string next_reason;
};

/// What the overview is made of.
struct OverviewSource {
  const Timeline& timeline;  ///< what was recorded, in names: of a capture that is read in windows, the last one
  const ProjectionOptions& options;
  const analysis::RecordingFigures& figures;
  const analysis::BlockedTimes& blocked;
  const analysis::RangeGroups& by_name;
};
Overview make_overview(const OverviewSource& source, const Footer& footer);
Overview make_overview(const ProjectedTimeline& projected, const Footer& footer);

/// Lines of text, each with a word in front that says what it is about.
std::string to_text(const Overview& overview, const Timeline& timeline, const TextOptions& options);

/// Appends `"overview": {...}`.
void append_json_member(std::string& out, const Overview& overview, const Timeline& timeline);

}  // namespace rangefinder::report
