// SPDX-License-Identifier: MIT
#include "cli/command.hpp"

#include <rangefinder/bench/ceilings.hpp>
#include <rangefinder/report.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace rangefinder::cli {
namespace {

struct ReportArguments {
  std::string input;
  ReportOptions report;
  bool csv = false;
  bool ascii = false;
  std::string kinds = "annotations";
  std::string ceilings;
};

int list_views() {
  for (const ReportViewInfo& view : report_views())
    std::printf("%-24.*s %.*s\n", static_cast<int>(view.name.size()), view.name.data(),
                static_cast<int>(view.description.size()), view.description.data());
  return kSuccess;
}

int run_report(const Common& common, ReportArguments arguments) {
  if (arguments.report.view == "help") return list_views();
  if (arguments.input.empty()) {
    complain("report: which file? A capture, a folder of captures, a torch.profiler trace or an Nsight SQLite export");
    return kUsage;
  }
  ReportOptions& options = arguments.report;
  options.format = common.json ? ReportFormat::kJson : arguments.csv ? ReportFormat::kCsv : ReportFormat::kText;
  options.projection.annotations = arguments.kinds != "operators";
  options.projection.operators = arguments.kinds != "annotations";
  options.terminal = common.terminal.stdout_is_tty;
  options.utf8 = common.terminal.utf8 && !arguments.ascii;
  options.colour = common.terminal.colour(common.colour);
  options.width = common.terminal.width;
  Progress progress(common.terminal, common.shows_progress(), "reading " + arguments.input);
  LoadOptions load;
  load.strict = common.strict;
  load.operator_inputs = options.view == "ops" || options.view == "roofline";
  load.progress = Progress::update;
  load.progress_user = &progress;
  Ceilings ceilings;
  if (!arguments.ceilings.empty()) {
    Result<Ceilings> read = bench::read_ceilings(arguments.ceilings);
    if (!read) return fail(read.error());
    ceilings = std::move(*read);
    options.ceilings = &ceilings;
  }
  Result<Timeline> timeline = load_timeline(arguments.input, load);
  if (!timeline) return fail(timeline.error());
  prepare_for_report(*timeline, options);
  if (Status status = write_report(*timeline, options, write_stdout); !status.ok()) return fail(status.error());
  return kSuccess;
}

}  // namespace

void add_report(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* verb = app.add_subcommand("report", "Show where the device's time belongs");
  verb->add_option(
          "FILE", arguments->input,
          "A capture, a folder of captures, a torch.profiler trace (.json, .json.gz), or an Nsight SQLite export")
      ->type_name("");
  verb->add_option("--view", arguments->report.view, "What to show; `--view help` lists all (default ranges)")
      ->type_name("VIEW");
  verb->add_flag("--instances", arguments->report.instances, "A row an instance instead of one a name");
  verb->add_option_function<std::string>(
          "--group-by", [arguments](const std::string& by) { arguments->report.by_shape = by == "shape"; },
          "The view ops: a row a name, or a name and shapes of inputs: name or shape (default name)")
      ->check(CLI::IsMember({"name", "shape"}).description(""))
      ->type_name("WHAT");
  verb->add_option("--step-names", arguments->report.step_names,
                   "The view steps: names of the parts of a step, as data=my_loader*,fetch*;forward=fwd")
      ->type_name("RULES");
  verb->add_option("--ceilings", arguments->ceilings, "The view roofline: what `rangefinder ceilings` measured")
      ->type_name("FILE");
  verb->add_flag("--fold", arguments->report.fold, "Views by path: layers.0, layers.1, ... are one row, layers.*");
  verb->add_flag("--csv", arguments->csv, "Print CSV with exact numbers")->group("Output");
  verb->add_flag("--ascii", arguments->ascii, "Draw with ASCII characters only")->group("Output");
  verb->add_option("--filter", arguments->report.filter, "Only rows whose name contains TEXT")->type_name("TEXT");
  verb->add_flag("--regex", arguments->report.filter_is_regex, "--filter is a regular expression");
  verb->add_option("--sort", arguments->report.sort, "Column to sort by; +COLUMN up, -COLUMN down")
      ->type_name("COLUMN");
  const auto is_count = [](const std::string& text) {
    const bool digits =
        !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    return digits ? std::string() : "\"" + text + "\" is no number of rows";
  };
  verb->add_option("--top", arguments->report.top, "At most N rows")
      ->type_name("N")
      ->check(CLI::Validator(is_count, ""));
  verb->add_option("--depth", arguments->report.depth, "Views by path: at most N ranges deep")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  const std::map<std::string, Attribution> attributions{{"auto", Attribution::kAuto},
                                                        {"launch", Attribution::kLaunch},
                                                        {"forward", Attribution::kForward},
                                                        {"capture", Attribution::kCapture}};
  verb->add_option("--attribute", arguments->report.projection.attribution,
                   "Who owns device work: launch, forward, capture or auto (default auto)")
      ->transform(CLI::CheckedTransformer(attributions).description(""))
      ->type_name("HOW");
  verb->add_option("--ranges", arguments->kinds,
                   "Which ranges take part: annotations, operators or both (default annotations)")
      ->check(CLI::IsMember({"annotations", "operators", "both"}).description(""))
      ->type_name("KIND");
  add_common(*verb, common);
  verb->callback([&common, &result, arguments] { result = run_report(common, *arguments); });
}

}  // namespace rangefinder::cli
