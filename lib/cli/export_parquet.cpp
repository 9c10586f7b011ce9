// SPDX-License-Identifier: MIT
#include "cli/export_parquet.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <malloc.h>

namespace rangefinder::cli {
namespace {

/// Each window of time frees its rows and takes as many again: to give them back to the system in between takes a sixth
/// of the time. The command ends soon, and keeps them.
void keep_freed_memory() noexcept {
  (void)::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  (void)::mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that it takes
}

}  // namespace

void add_parquet_options(CLI::App& verb, ParquetArguments& arguments) {
  verb.add_option("--job", arguments.options.job,
                  "With parquet: name of the job (default: the metadata job, or the name of FILE)")
      ->type_name("NAME");
  verb.add_option("--run", arguments.options.run,
                  "With parquet: name of the run (default: when its first recording began)")
      ->type_name("NAME");
  verb.add_flag("--no-detail", arguments.no_detail, "With parquet: only the tables of sums, some kilobytes a rank");
}

int run_parquet(const Common& common, const std::string& input, const std::string& output,
                const ParquetArguments& arguments, const ChromeExportOptions& chrome) {
  if (output == "-")
    return fail(Error(ErrorCode::kInvalidArgument, "--format parquet writes a folder, and cannot write to stdout"));
  keep_freed_memory();
  ParquetExportOptions options = arguments.options;
  options.detail = !arguments.no_detail;
  options.replace = chrome.replace;
  options.attribution = chrome.attribution;
  options.max_memory_bytes = common.max_memory;
  Progress progress(common.terminal, common.shows_progress(), "exporting " + input);
  progress.watch(options);
  ParquetExportReport report;
  if (Status status = export_parquet(input, output, options, &report); !status.ok()) return fail(status.error());
  if (common.json)
    write_stdout(fmt::format("{{\"schema_version\":1,\"output\":{},\"recordings\":{},\"activities\":{},\"rows\":{}}}\n",
                             json_string(output), report.recordings, report.activities, report.rows));
  else if (!common.quiet)
    write_stdout(fmt::format("{}: {} recordings, {} activities, {} rows\n", base::printable(output),
                             base::with_thousands(report.recordings), base::with_thousands(report.activities),
                             base::with_thousands(report.rows)));
  return kSuccess;
}

}  // namespace rangefinder::cli
