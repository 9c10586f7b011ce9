// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/pass_split.hpp"
#include "exporter/chrome/event_writer.hpp"
#include "exporter/chrome/export_notes.hpp"
#include "exporter/chrome/head_cache.hpp"
#include "exporter/chrome/layout.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::chrome {

/// What the parts of the export of a timeline share.
struct TimelineExport {
  TimelineExport(const Timeline& timeline_in, const ChromeExportOptions& options_in, EventWriter& writer_in,
                 TrackTable& table, ExportNotes& notes_in);

  bool in_window(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    return begin_ns < options.end_ns && (end_ns > options.begin_ns || begin_ns >= options.begin_ns);
  }
  std::string_view head(Category category, StringId name) {
    const auto id = static_cast<std::uint32_t>(name);
    const std::string_view known = heads.find(category, id);
    return known.empty() ? heads.put(category, id, timeline.text(name)) : known;
  }
  ProcessLabel label(ProcessIndex process) const noexcept;
  /// Nothing where the launch is unknown or no range was open.
  RangeIndex launching_range(ActivityIndex activity) const noexcept;
  /// Of a graph's work: the ranges in which its node was made, as ActivityPlace::captured_in; empty where slices show
  /// them.
  std::string_view ranges_not_written(ActivityIndex activity);

  const Timeline& timeline;
  const ChromeExportOptions& options;
  EventWriter& writer;
  ExportNotes& notes;
  Layout layout;
  HeadCache heads;
  Projection projection;
  analysis::StreamPassTimes passes;

  std::vector<GroupId> processes;
  std::vector<GroupId> devices;
  std::vector<TrackId> threads;
  std::vector<TrackId> streams;
  /// What links a range to its device rows: the input's own External id, or the range's number. -1: no link.
  std::int64_t external_id(RangeIndex range) const noexcept {
    return !is_linked_.empty() && is_linked_[range] ? std::int64_t{range} + 1 : timeline.ranges.external_id[range];
  }

 private:
  void make_rows();
  void link();

  std::map<RangeIndex, std::string> not_written_;
  std::vector<bool> is_linked_;  // by range: by its number. Empty: all by the input's own ids
};

}  // namespace rangefinder::chrome
