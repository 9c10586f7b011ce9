// SPDX-License-Identifier: MIT
#include "exporter/nsight/rows.hpp"
#include "exporter/nsight/schema.hpp"

#include <rangefinder/exporters.hpp>

#include <utility>

namespace rangefinder {

Status export_nsight_sqlite(const Timeline& timeline, const std::string& output, const NsightExportOptions& options) {
  if (output == "-")
    return Error(ErrorCode::kInvalidArgument, "export: SQLite writes to a file, not to standard output");
  Result<nsight_export::SqliteOutput> file = nsight_export::SqliteOutput::create(output, options.replace);
  if (!file) return std::move(file).error().with_context("export");
  nsight_export::write_schema(*file);
  {  // what it has prepared goes before the file is closed
    nsight_export::Export out(timeline, *file);
    nsight_export::write_places(out);
    nsight_export::write_nvtx(out);
    nsight_export::write_calls(out);
    nsight_export::write_activities(out);
    nsight_export::write_syncs(out);
  }
  Status status = file->finish();
  return status.ok() ? status : Status(std::move(status).error().with_context("export"));
}

Status export_nsight_sqlite(const std::string& input, const std::string& output, const NsightExportOptions& options) {
  LoadOptions load;
  load.max_memory_bytes = options.max_memory_bytes;
  Result<Timeline> timeline = load_timeline(input, load);
  if (!timeline) return std::move(timeline).error().with_context("export");
  return export_nsight_sqlite(*timeline, output, options);
}

}  // namespace rangefinder
