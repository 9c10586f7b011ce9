// SPDX-License-Identifier: MIT
#include "cli/command.hpp"
#include "cli/values.hpp"

#include <rangefinder/compare.hpp>

#include <memory>
#include <string>

namespace rangefinder::cli {
namespace {

struct DiffArguments {
  std::string baseline;
  std::string candidate;
  CompareOptions compare;
  DiffTextOptions output;
  bool ascii = false;
};

int run_diff(const Common& common, DiffArguments arguments) {
  bound_memory(common);
  DiffTextOptions& output = arguments.output;
  if (common.json) output.format = DiffFormat::kJson;
  output.terminal = common.terminal.stdout_is_tty;
  output.utf8 = common.terminal.utf8 && !arguments.ascii;
  output.colour = common.terminal.colour(common.colour);
  output.width = common.terminal.width;
  Result<RunDifference> difference = [&] {
    Progress progress(common.terminal, common.shows_progress(), "reading " + arguments.baseline);
    return compare_runs(arguments.baseline, arguments.candidate, load_options(common, progress), arguments.compare);
  }();
  if (!difference) return fail(difference.error());
  if (Status status = write_difference(*difference, output, write_stdout); !status.ok()) return fail(status.error());
  return kSuccess;
}

}  // namespace

void add_diff(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<DiffArguments>();
  CLI::App* verb = app.add_subcommand("diff", "Show what is different between two runs, and why");
  takes_file(
      verb->add_option("BASELINE", arguments->baseline,
                       "A capture, a torch.profiler trace, an Nsight SQLite export, a folder that is one job, or "
                       "a folder of several runs"))
      ->required()
      ->type_name("");
  takes_file(verb->add_option("CANDIDATE", arguments->candidate, "Likewise: what is compared with it"))
      ->required()
      ->type_name("");
  add_choice<DiffFormat>(*verb, "--format", arguments->output.format,
                         {{"text", DiffFormat::kText},
                          {"json", DiffFormat::kJson},
                          {"csv", DiffFormat::kCsv},
                          {"markdown", DiffFormat::kMarkdown}},
                         "text, json, csv or markdown (default text)")
      ->type_name("FORMAT")
      ->group("Output");
  takes_whole_number<std::size_t>(verb->add_option("--top", arguments->output.top,
                                                   "At most N rows a table in text and Markdown; 0: all (default 10)"),
                                  0)
      ->type_name("N")
      ->group("Output");
  verb->add_flag("--ascii", arguments->ascii, "Draw with ASCII characters only")->group("Output");
  add_attribution(*verb, arguments->compare.projection.attribution,
                  "Attribution of device work: launch, forward, capture or auto (default auto)");
  add_common(*verb, common);
  verb->callback([&common, &result, arguments, verb] {
    if (common.json && verb->count("--format") != 0) throw CLI::ValidationError("--json and --format: choose one");
    result = run_diff(common, *arguments);
  });
}

}  // namespace rangefinder::cli
