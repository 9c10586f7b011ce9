// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_export.hpp"

namespace rangefinder::chrome {

bool is_simulated(const capture::CaptureReader& reader) {
  return (reader.header().flags & format::kFlagSimulated) != 0 || reader.metadata("simulated") == "yes";
}

CaptureExport::CaptureExport(capture::CaptureReader& reader_in, const ChromeExportOptions& options_in,
                             EventWriter& writer_in, ExportNotes& notes_in)
    : reader(reader_in),
      options(options_in),
      writer(writer_in),
      notes(notes_in),
      layout(table, is_simulated(reader_in), false),
      process_label{reader_in.header().pid, reader_in.metadata("program"), reader_in.metadata("host"), -1},
      process(layout.process(process_label)),
      simulated(is_simulated(reader_in)) {}

std::string CaptureExport::text(format::NameId name) {
  if (name == 0) return "(unnamed)";
  if (reader.has_name(name)) return std::string(reader.name(name));
  ++lost_names;
  return "<lost name #" + std::to_string(name) + ">";
}

}  // namespace rangefinder::chrome
