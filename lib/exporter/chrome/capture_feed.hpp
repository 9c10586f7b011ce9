// SPDX-License-Identifier: MIT
#pragma once

#include "capture/capture_reader.hpp"
#include "exporter/chrome/export_notes.hpp"
#include "exporter/chrome/text_output.hpp"
#include "exporter/chrome/timeline_feed.hpp"

#include <rangefinder/exporters.hpp>

#include <cstdint>

namespace rangefinder::chrome {

/// Writes the whole document without ever holding more of the capture than a few chunks; returns how many events it
/// holds.
std::uint64_t write_capture(capture::CaptureReader& reader, const ChromeExportOptions& options, TextOutput& out,
                            ExportNotes& notes, const Progress& progress);

}  // namespace rangefinder::chrome
