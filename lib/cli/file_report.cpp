// SPDX-License-Identifier: MIT
#include "cli/file_report.hpp"

#include "cli/values.hpp"

#include <optional>

namespace rangefinder::cli {

CLI::Option* add_files(CLI::App& verb, FileReport& arguments) {
  return verb
      .add_option(
          "FILE", arguments.inputs,
          "A capture or a torch.profiler trace (.json, .json.gz), several of them or a folder of them (one job), or an "
          "Nsight SQLite export")
      ->type_name("");
}

void add_report_options(CLI::App& verb, FileReport& arguments) {
  add_attribution(verb, arguments.report.projection.attribution,
                  "Attribution of device work: launch, forward, capture or auto (default auto)");
  takes_one_of(verb.add_option("--ranges", arguments.kinds,
                               "Which ranges to use: annotations, operators or both (default annotations)"),
               {"annotations", "operators", "both"})
      ->type_name("KIND");
  verb.add_flag("--csv", arguments.csv, "Print CSV with exact numbers")->group("Output");
  verb.add_flag("--ascii", arguments.ascii, "Draw with ASCII characters only")->group("Output");
}

void check_formats(const Common& common, const FileReport& arguments) {
  if (common.json && arguments.csv) throw CLI::ValidationError("--json and --csv: choose one");
}

ReportFormat format_of(const Common& common, const FileReport& arguments) noexcept {
  return common.json ? ReportFormat::kJson : arguments.csv ? ReportFormat::kCsv : ReportFormat::kText;
}

int write_file_report(const Common& common, FileReport& arguments) {
  bound_memory(common);
  ReportOptions& options = arguments.report;
  options.format = format_of(common, arguments);
  options.projection.annotations = arguments.kinds != "operators";
  options.projection.operators = arguments.kinds != "annotations";
  options.terminal = common.terminal.stdout_is_tty;
  options.utf8 = common.terminal.utf8 && !arguments.ascii;
  options.colour = common.terminal.colour(common.colour);
  options.width = common.terminal.width;
  Progress progress(common.terminal, common.shows_progress(), "reading " + arguments.inputs.front());
  const Result<std::optional<MachinePeaks>> peaks = peaks_of(arguments.peaks);
  if (!peaks) return fail(peaks.error());
  options.peaks = *peaks ? &**peaks : nullptr;
  if (Status status = report_files(arguments.inputs, load_options(common, progress), options, write_stdout);
      !status.ok())
    return fail(status.error());
  return kSuccess;
}

}  // namespace rangefinder::cli
