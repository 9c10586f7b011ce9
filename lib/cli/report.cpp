// SPDX-License-Identifier: MIT
#include "cli/file_report.hpp"
#include "cli/values.hpp"

#include <cstdio>
#include <memory>
#include <string>

namespace rangefinder::cli {
namespace {

struct ReportArguments : FileReport {
  std::string group_by = "name";
};

int list_views() {
  for (const ReportViewInfo& view : report_views())
    std::printf("%-24.*s %.*s\n", static_cast<int>(view.name.size()), view.name.data(),
                static_cast<int>(view.description.size()), view.description.data());
  return kSuccess;
}

int run_report(const Common& common, ReportArguments arguments) {
  if (arguments.report.view == "help") return list_views();
  ReportOptions& options = arguments.report;
  options.format = format_of(common, arguments);
  if (arguments.inputs.empty() && options.columns == "help") {
    if (Status status = write_report(Timeline(), options, write_stdout); !status.ok()) return fail(status.error());
    return kSuccess;
  }
  if (arguments.inputs.empty()) {
    complain("report: which file? A capture, a folder of captures, a torch.profiler trace or an Nsight SQLite export");
    return kUsage;
  }
  options.by_shape = arguments.group_by == "shape";
  options.by_payload = arguments.group_by == "payload";
  options.overview = !common.quiet;
  return write_file_report(common, arguments);
}

}  // namespace

void add_report(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* verb = app.add_subcommand("report", "Show which ranges use the GPU time");
  add_files(*verb, *arguments);
  verb->add_option("--view", arguments->report.view, "What to show; `--view help` lists all (default ranges)")
      ->type_name("VIEW");
  verb->add_flag("--instances", arguments->report.instances, "One row per instance instead of one per name");
  takes_one_of(verb->add_option("--group-by", arguments->group_by,
                                "One row per name (default); view ops: per name and shape of inputs (shape); view "
                                "ranges: per name and payload (payload)"),
               {"name", "shape", "payload"})
      ->type_name("WHAT");
  verb->add_option("--payload", arguments->report.payload,
                   "View ranges: only instances whose payload matches CONDITION: '>=64', '=json', 'batch>=64'")
      ->type_name("CONDITION");
  verb->add_option("--step-names", arguments->report.step_names,
                   "View steps: which ranges are which part of a step, such as data=my_loader*;forward=fwd")
      ->type_name("RULES");
  takes_one_of(verb->add_option("--by", arguments->report.by,
                                "View breakdown: one row per device and step (step), or per device and name of range "
                                "(range); default: one row per device. View families: one row per name of range and "
                                "family (range). View launch_queue: one row per name of range (range). View "
                                "critical_path: one row per reason (default), range, operator or step"),
               {"step", "range", "reason", "operator"})
      ->type_name("WHAT");
  verb->add_option("--of", arguments->report.of,
                   "View critical_path: of what: steps (default), all, step:NUMBER, range:NAME, or time:BEGIN..END in "
                   "nanoseconds since the begin of the recording")
      ->type_name("WHAT");
  takes_file(verb->add_option(
                 "--peaks", arguments->peaks,
                 "For the views roofline and roofline_operators: the file that `rangefinder measure-peaks` wrote"))
      ->type_name("FILE");
  verb->add_flag("--fold", arguments->report.fold,
                 "Views by path: merge layers.0, layers.1, ... into one row, layers.*");
  verb->add_option("--columns", arguments->report.columns,
                   "Columns to show, in this order: range,count,host_p95; `--columns help` lists those of the view")
      ->type_name("LIST")
      ->group("Output");
  verb->add_flag("--absolute-times", arguments->report.absolute_times,
                 "Show points in time on the capture's clock, as in CSV and JSON; default: since its begin")
      ->group("Output");
  verb->add_option("--filter", arguments->report.filter, "Only rows whose name contains TEXT")->type_name("TEXT");
  verb->add_flag("--regex", arguments->report.filter_is_regex, "--filter is a regular expression");
  verb->add_option("--sort", arguments->report.sort, "Column to sort by; +COLUMN ascending, -COLUMN descending")
      ->type_name("COLUMN");
  takes_whole_number<std::size_t>(verb->add_option("--top", arguments->report.top, "At most N rows"), 0)
      ->type_name("N");
  takes_whole_number<std::size_t>(
      verb->add_option("--depth", arguments->report.depth, "Views by path: at most N levels"), 1)
      ->type_name("N");
  add_report_options(*verb, *arguments);
  add_common(*verb, common);
  verb->callback([&common, &result, arguments] {
    check_formats(common, *arguments);
    if (arguments->report.filter_is_regex && arguments->report.filter.empty())
      throw CLI::ValidationError("--regex needs --filter");
    if (arguments->group_by == "shape" && arguments->report.view != "ops")
      throw CLI::ValidationError("--group-by shape needs --view ops");
    if (!arguments->report.of.empty() && arguments->report.view != "critical_path")
      throw CLI::ValidationError("--of needs --view critical_path");
    result = run_report(common, *arguments);
  });
}

}  // namespace rangefinder::cli
