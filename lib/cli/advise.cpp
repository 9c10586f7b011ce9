// SPDX-License-Identifier: MIT
#include "cli/command.hpp"
#include "cli/values.hpp"

#include <rangefinder/report.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rangefinder::cli {
namespace {

struct AdviseArguments {
  std::vector<std::string> inputs;
  std::string peaks;
  std::string kinds = "annotations";
  Attribution attribution = Attribution::kAuto;
  bool csv = false;
  bool ascii = false;
};

int run_advise(const Common& common, const AdviseArguments& arguments) {
  bound_memory(common);
  ReportOptions options;
  options.view = "advice";
  options.format = common.json ? ReportFormat::kJson : arguments.csv ? ReportFormat::kCsv : ReportFormat::kText;
  options.projection.attribution = arguments.attribution;
  options.projection.annotations = arguments.kinds != "operators";
  options.projection.operators = arguments.kinds != "annotations";
  options.terminal = common.terminal.stdout_is_tty;
  options.utf8 = common.terminal.utf8 && !arguments.ascii;
  options.colour = common.terminal.colour(common.colour);
  options.width = common.terminal.width;
  Progress progress(common.terminal, common.shows_progress(), "reading " + arguments.inputs.front());
  LoadOptions load;
  load.strict = common.strict;
  load.max_memory_bytes = common.max_memory;
  load.progress = Progress::update;
  load.progress_user = &progress;
  const Result<std::optional<MachinePeaks>> peaks = peaks_of(arguments.peaks);
  if (!peaks) return fail(peaks.error());
  options.peaks = *peaks ? &**peaks : nullptr;
  if (Status status = report_files(arguments.inputs, load, options, write_stdout); !status.ok())
    return fail(status.error());
  return kSuccess;
}

}  // namespace

void add_advise(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<AdviseArguments>();
  CLI::App* verb = app.add_subcommand("advise", "Show what to change so that steps get shorter, and what it gains");
  verb->add_option(
          "FILE", arguments->inputs,
          "A capture or a torch.profiler trace (.json, .json.gz), several of them or a folder of them (one job), or an "
          "Nsight SQLite export")
      ->required()
      ->type_name("");
  takes_file(verb->add_option("--peaks", arguments->peaks,
                              "Peaks of the machine, the file that `rangefinder measure-peaks` wrote (default: data "
                              "sheets of known devices)"))
      ->type_name("FILE");
  add_attribution(*verb, arguments->attribution,
                  "Attribution of device work: launch, forward, capture or auto (default auto)");
  takes_one_of(verb->add_option("--ranges", arguments->kinds,
                                "Which ranges to name: annotations, operators or both (default annotations)"),
               {"annotations", "operators", "both"})
      ->type_name("KIND");
  verb->add_flag("--csv", arguments->csv, "Print CSV with exact numbers")->group("Output");
  verb->add_flag("--ascii", arguments->ascii, "Draw with ASCII characters only")->group("Output");
  add_common(*verb, common);
  verb->callback([&common, &result, arguments] {
    if (common.json && arguments->csv) throw CLI::ValidationError("--json and --csv: choose one");
    result = run_advise(common, *arguments);
  });
}

}  // namespace rangefinder::cli
