// SPDX-License-Identifier: MIT
#pragma once

#include "capture/capture_reader.hpp"
#include "exporter/chrome/export_notes.hpp"
#include "exporter/chrome/text_output.hpp"
#include "exporter/chrome/timeline_feed.hpp"

#include <rangefinder/exporters.hpp>

#include <cstddef>
#include <cstdint>

namespace rangefinder::chrome {

/// How the work is cut into pieces. The same is written, but that longer windows put some events in another order.
struct CaptureWork {
  /// A window's tables, and what is written of them, in memory.
  std::size_t window_rows = std::size_t{1} << 16;
  /// What is written is written by a thread that lasts as long as the call.
  bool in_two_threads = true;

  /// A machine of one processor does better with one thread.
  static CaptureWork of_this_machine();
};

/// Writes the whole document without ever holding more of the capture than a few chunks; returns how many events it
/// holds. `target` null: JSON.
std::uint64_t write_capture(capture::CaptureReader& reader, const ChromeExportOptions& options, TextOutput& out,
                            ExportNotes& notes, const Progress& progress,
                            const CaptureWork& work = CaptureWork::of_this_machine(), EventTarget* target = nullptr);

}  // namespace rangefinder::chrome
