// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/export_parquet.hpp"
#include "cli/export_perfetto.hpp"
#include "cli/values.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/exporters.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::cli {
namespace {

struct ExportArguments {
  std::string input;
  std::string output;
  std::string format;  // empty: by the end of `output`
  bool force = false;
  std::string peaks;
  StackTime by = StackTime::kDevice;
  MemorySnapshotOptions snapshot;
  ChromeExportOptions chrome;
  PerfettoExportOptions perfetto;
  ParquetArguments parquet;
  bool no_api = false;
  bool no_counters = false;
  bool no_projected = false;
};

/// What is said of formats that count nothing.
int said_written(const Common& common, const std::string& output, const Status& status) {
  if (!status.ok()) return fail(status.error());
  if (output == "-" || common.quiet) return kSuccess;
  write_stdout(common.json ? fmt::format("{{\"schema_version\":1,\"output\":{}}}\n", json_string(output))
                           : fmt::format("{}: written\n", base::printable(output)));
  return kSuccess;
}

/// The options that all of these have in common.
template <typename Options>
Options options_of(const Common& common, const ExportArguments& arguments, Options options = {}) {
  options.replace = arguments.force;
  options.max_memory_bytes = common.max_memory;
  if constexpr (requires { options.attribution; }) options.attribution = arguments.chrome.attribution;
  return options;
}

int run_memory_viz(const Common& common, const ExportArguments& arguments) {
  const auto options = options_of(common, arguments, arguments.snapshot);
  return said_written(common, arguments.output, export_memory_snapshot(arguments.input, arguments.output, options));
}

template <StackFormat kFormat>
int run_stacks(const Common& common, const ExportArguments& arguments) {
  auto options = options_of<StackExportOptions>(common, arguments);
  options.format = kFormat;
  options.time = arguments.by;
  return said_written(common, arguments.output, export_stacks(arguments.input, arguments.output, options));
}

int run_open_metrics(const Common& common, const ExportArguments& arguments) {
  const auto options = options_of<StepMetricsOptions>(common, arguments);
  return said_written(common, arguments.output, export_step_metrics(arguments.input, arguments.output, options));
}

int run_nsight(const Common& common, const ExportArguments& arguments) {
  const auto options = options_of<NsightExportOptions>(common, arguments);
  return said_written(common, arguments.output, export_nsight_sqlite(arguments.input, arguments.output, options));
}

int run_html(const Common& common, const ExportArguments& arguments) {
  auto options = options_of<HtmlExportOptions>(common, arguments);
  const Result<std::optional<MachinePeaks>> peaks = peaks_of(arguments.peaks);
  if (!peaks) return fail(peaks.error());
  options.peaks = *peaks ? &**peaks : nullptr;
  Progress progress(common.terminal, common.shows_progress(), "exporting " + arguments.input);
  progress.watch(options);
  HtmlExportReport report;
  if (Status status = export_html(arguments.input, arguments.output, options, &report); !status.ok())
    return fail(status.error());
  if (arguments.output == "-") return kSuccess;
  if (common.json) {
    write_stdout(
        fmt::format("{{\"schema_version\":1,\"output\":{},\"slices\":{},\"output_bytes\":{},\"left_out\":{}}}\n",
                    json_string(arguments.output), report.slices, report.output_bytes, report.left_out));
  } else if (!common.quiet) {
    write_stdout(fmt::format("{}: {} slices, {} bytes\n", base::printable(arguments.output),
                             base::with_thousands(report.slices), base::with_thousands(report.output_bytes)));
    for (const std::string& note : report.notes) write_stdout("note: " + base::printable(note) + "\n");
  }
  return kSuccess;
}

ChromeExportOptions chrome_options(const Common& common, const ExportArguments& arguments) {
  ChromeExportOptions options = options_of(common, arguments, arguments.chrome);
  options.api_calls = !arguments.no_api;
  options.counters = !arguments.no_counters;
  options.exclusive_ranges = options.inclusive_ranges = !arguments.no_projected;
  return options;
}

int run_chrome(const Common& common, const ExportArguments& arguments) {
  ChromeExportOptions options = chrome_options(common, arguments);
  Progress progress(common.terminal, common.shows_progress(), "exporting " + arguments.input);
  progress.watch(options);
  ChromeExportReport report;
  if (Status status = export_chrome_trace(arguments.input, arguments.output, options, &report); !status.ok())
    return fail(status.error());
  if (arguments.output == "-") return kSuccess;
  if (common.json) {
    write_stdout(
        fmt::format("{{\"schema_version\":1,\"output\":{},\"events\":{},\"json_bytes\":{},\"output_bytes\":{},"
                    "\"overlapping\":{},\"left_out\":{}}}\n",
                    json_string(arguments.output), report.events, report.json_bytes, report.output_bytes,
                    report.overlapping, report.left_out));
  } else if (!common.quiet) {
    write_stdout(fmt::format("{}: {} events, {} bytes\n", base::printable(arguments.output),
                             base::with_thousands(report.events), base::with_thousands(report.output_bytes)));
    for (const std::string& note : report.notes) write_stdout("note: " + base::printable(note) + "\n");
  }
  return kSuccess;
}

struct Format {
  std::string name;
  std::string ending;  ///< of the names of its files; empty: it writes a folder
  std::string meaning;
  std::vector<std::string> options;  ///< that it has a use for, of those that not every format has
  bool compresses;                   ///< where the name ends in .gz
  int (*run)(const Common& common, const ExportArguments& arguments);
};

/// What `export` writes. The first is the default where no ending fits; of several that fit, the last one counts.
const std::vector<Format>& formats() {
  static const std::vector<std::string> stacks = {"--by", "--attribute"};
  static const std::vector<Format> all = {
      {"chrome",
       ".json",
       "JSON for chrome://tracing, Perfetto, TensorBoard and HTA",
       {"--pretty", "--no-api", "--no-counters", "--no-projected", "--attribute"},
       true,
       run_chrome},
      {"perfetto",
       ".pftrace",
       "Perfetto's own format",
       {"--gpu", "--no-api", "--no-counters", "--no-projected", "--attribute"},
       true,
       [](const Common& common, const ExportArguments& arguments) {
         return run_perfetto(common, arguments.input, arguments.output, arguments.perfetto,
                             chrome_options(common, arguments));
       }},
      {"html", ".html", "a page to look at, which needs no network", {"--peaks", "--attribute"}, false, run_html},
      {"folded", ".folded", "time by stacks of ranges, for flamegraph.pl", stacks, true,
       run_stacks<StackFormat::kFolded>},
      {"speedscope", ".speedscope.json", "the same for speedscope", stacks, true, run_stacks<StackFormat::kSpeedscope>},
      {"hatchet", ".hatchet.json", "the same for Hatchet", stacks, true, run_stacks<StackFormat::kHatchet>},
      {"openmetrics", ".prom", "figures of steps for Prometheus", {"--attribute"}, false, run_open_metrics},
      {"nsight", ".sqlite", "SQLite in the schema of `nsys export`", {}, false, run_nsight},
      {"memory_viz", ".pickle", "allocations for PyTorch's memory viewer", {"--at"}, false, run_memory_viz},
      {"parquet",
       "",
       "tables for DuckDB, Spark and pandas, into the folder OUT",
       {"--job", "--run", "--no-detail", "--attribute"},
       false,
       [](const Common& common, const ExportArguments& arguments) {
         return run_parquet(common, arguments.input, arguments.output, arguments.parquet,
                            chrome_options(common, arguments));
       }}};
  return all;
}

std::vector<std::string> names_of_formats() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.push_back(format.name);
  return names;
}

std::string help_of_formats() {
  std::string help = "Default: by the end of OUT, else chrome.";
  for (const Format& format : formats()) {
    help += " " + format.name;
    if (!format.ending.empty()) help += " (" + format.ending + ")";
    help += ": " + format.meaning + (&format == &formats().back() ? "" : ";");
  }
  return help;
}

const Format& format_of(const ExportArguments& arguments) {
  std::string_view output = arguments.output;
  if (output.ends_with(".gz")) output.remove_suffix(3);
  const Format* chosen = &formats().front();
  for (const Format& format : formats()) {
    const bool fits = !format.ending.empty() && output.ends_with(format.ending);
    if (arguments.format.empty() ? fits : format.name == arguments.format) chosen = &format;
  }
  return *chosen;
}

/// Options that the format has no use for, and a name that says what the file would not be.
Status check_options(const CLI::App& verb, const Format& chosen, const ExportArguments& arguments) {
  if (!chosen.compresses && arguments.output.ends_with(".gz"))
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: --format {} does not compress", base::printable(arguments.output), chosen.name));
  std::map<std::string, std::vector<std::string>> takers;
  for (const Format& format : formats())
    for (const std::string& option : format.options) takers[option].push_back(format.name);
  for (const auto& [option, names] : takers) {
    if (verb.get_option(option)->count() != 0 && std::find(names.begin(), names.end(), chosen.name) == names.end())
      return Error(ErrorCode::kInvalidArgument, fmt::format("{} needs --format {}", option, alternatives(names)));
  }
  return {};
}

int run_export(const Common& common, const CLI::App& verb, const ExportArguments& arguments) {
  const Format& format = format_of(arguments);
  if (Status status = check_options(verb, format, arguments); !status.ok()) return fail(status.error());
  bound_memory(common);
  if (common.strict) {
    if (Status status = check_complete(common, arguments.input); !status.ok()) return fail(status.error());
  }
  return format.run(common, arguments);
}

}  // namespace

Status check_complete(const Common& common, const std::string& path) {
  const Result<CaptureInfo> info = inspect_capture(path, true);
  if (info.ok()) {
    if (info->health.complete() && info->findings.empty()) return {};
    return Error(ErrorCode::kIncomplete, path + ": the recording is incomplete; see `rangefinder check`");
  }
  LoadOptions load;
  load.strict = true;
  load.max_memory_bytes = common.max_memory;
  const Result<Timeline> timeline = load_timeline(path, load);
  return timeline.ok() ? Status() : Status(timeline.error());
}

void add_export(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* verb = app.add_subcommand("export", "Write a trace for other tools");
  verb->add_option("FILE", arguments->input, "A capture, a folder of captures, a trace or an export")
      ->required()
      ->type_name("");
  takes_file(verb->add_option("-o,--output", arguments->output,
                              "The file to write; .gz compresses; - is stdout. Viewers expect NAME.pt.trace.json[.gz]"))
      ->required()
      ->type_name("OUT");
  takes_one_of(verb->add_option("--format", arguments->format, help_of_formats()), names_of_formats())
      ->type_name("FORMAT");
  add_choice<SnapshotMoment>(
      *verb, "--at", arguments->snapshot.at, {{"end", SnapshotMoment::kEnd}, {"peak", SnapshotMoment::kPeak}},
      "With memory_viz: blocks at the end (default) or at the peak of the host and of each device")
      ->type_name("MOMENT");
  add_choice<StackTime>(*verb, "--by", arguments->by, {{"device", StackTime::kDevice}, {"host", StackTime::kHost}},
                        "With folded, speedscope and hatchet: device time (default), or host time of ranges")
      ->type_name("TIME");
  takes_file(verb->add_option("--peaks", arguments->peaks,
                              "With html: the file that `rangefinder measure-peaks` wrote, for the roofline"))
      ->type_name("FILE");
  add_perfetto_options(*verb, arguments->perfetto);
  add_parquet_options(*verb, arguments->parquet);
  verb->add_flag("--force", arguments->force, "Replace OUT if it exists");
  verb->add_flag("--pretty", arguments->chrome.pretty, "With chrome: indent the JSON");
  verb->add_flag("--no-api", arguments->no_api, "With chrome and perfetto: leave out CUDA API calls");
  verb->add_flag("--no-counters", arguments->no_counters, "With chrome and perfetto: leave out counters");
  verb->add_flag("--no-projected", arguments->no_projected, "With chrome and perfetto: leave out ranges on GPU rows");
  add_attribution(*verb, arguments->chrome.attribution,
                  "Attribution of device work: auto (default), launch, forward or capture");
  add_common(*verb, common);
  verb->callback([&common, &result, arguments, verb] { result = run_export(common, *verb, *arguments); });
}

}  // namespace rangefinder::cli
