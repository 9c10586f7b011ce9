// SPDX-License-Identifier: MIT
#pragma once

#include "capture/capture_reader.hpp"
#include "report/sink.hpp"
#include "report/view.hpp"

#include <rangefinder/report.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>

namespace rangefinder::report {

/// Whether what was asked for can be added up window by window, or is a list of a few of the rows.
bool adds_up(const View& view, const ViewOptions& options) noexcept;
/// Whether the capture is so long that a loaded timeline would take hundreds of MiB.
bool is_long(const capture::CaptureReader& reader) noexcept;

struct WindowSizes {
  std::size_t rows = std::size_t{1} << 17;     ///< of a window, about
  std::size_t lengths = std::size_t{1} << 22;  ///< that are kept for exact medians and percentiles
};

/// The report of a capture, for a view that adds up: what a loaded timeline gives, in memory that does not grow with
/// the capture. Where ranges need not nest (CaptureWindows::only_nests) the file is read twice.
///
/// Errors: as load_timeline and write_report.
Status write_windowed_report(capture::CaptureReader& reader, const LoadOptions& load, const View& view,
                             const ViewOptions& options, const WindowSizes& sizes, const Sink& sink);

}  // namespace rangefinder::report
