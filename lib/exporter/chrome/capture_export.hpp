// SPDX-License-Identifier: MIT
#pragma once

#include "capture/capture_reader.hpp"
#include "exporter/chrome/event_writer.hpp"
#include "exporter/chrome/export_notes.hpp"
#include "exporter/chrome/head_cache.hpp"
#include "exporter/chrome/layout.hpp"

#include <rangefinder/exporters.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace rangefinder::chrome {

/// What the parts of the export of a capture share.
struct CaptureExport {
  CaptureExport(capture::CaptureReader& reader_in, const ChromeExportOptions& options_in, EventWriter& writer_in,
                ExportNotes& notes_in);

  bool in_window(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    return begin_ns < options.end_ns && (end_ns > options.begin_ns || begin_ns >= options.begin_ns);
  }
  /// Recorded since a CUDA graph was captured there, and over when the recording began.
  bool is_before(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    return begin_ns < start_ns && end_ns <= start_ns;
  }
  /// The first and last time of anything in the capture, so far.
  void extend(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
    first_ns = std::min(first_ns, begin_ns);
    last_ns = std::max(last_ns, end_ns);
  }
  std::string_view head(Category category, format::NameId name) {
    const std::string_view known = heads.find(category, name);
    return known.empty() ? heads.put(category, name, text(name)) : known;
  }
  /// "<lost name #5>" where the file does not hold it.
  std::string text(format::NameId name);
  std::string_view ids(TrackId track) { return table.ids(track); }

  capture::CaptureReader& reader;
  const ChromeExportOptions& options;
  EventWriter& writer;
  ExportNotes& notes;
  TrackTable table;
  Layout layout;
  HeadCache heads;
  ProcessLabel process_label;
  GroupId process = 0;
  bool simulated = false;
  std::uint64_t lost_names = 0;
  std::int64_t start_ns = 0;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
};

}  // namespace rangefinder::chrome
