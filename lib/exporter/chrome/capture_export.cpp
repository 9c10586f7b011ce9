// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_export.hpp"

namespace rangefinder::chrome {

CaptureExport::CaptureExport(capture::CaptureReader& reader_in, const ChromeExportOptions& options_in,
                             EventWriter& writer_in, ExportNotes& notes_in)
    : reader(reader_in),
      options(options_in),
      writer(writer_in),
      notes(notes_in),
      layout(table, {reader_in.simulated(), false, false}),
      process_label{reader_in.header().pid, reader_in.metadata("program"), reader_in.metadata("host"), -1},
      process(layout.process(process_label)),
      simulated(reader_in.simulated()),
      start_ns(reader_in.monotonic_of_ticks(format::first_ticks(reader_in.header()))) {}

std::string CaptureExport::text(format::NameId name) {
  if (name != 0 && !reader.has_name(name)) ++lost_names;
  return reader.name_or_placeholder(name);
}

}  // namespace rangefinder::chrome
