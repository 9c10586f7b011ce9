// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/values.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/exporters.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>

namespace rangefinder::cli {
namespace {

struct ExportArguments {
  std::string input;
  std::string output;
  std::string format = "chrome";
  bool force = false;
  MemorySnapshotOptions snapshot;
  ChromeExportOptions chrome;
  bool no_api = false;
  bool no_counters = false;
  bool no_projected = false;
};

int run_memory_viz(const Common& common, const ExportArguments& arguments) {
  MemorySnapshotOptions options = arguments.snapshot;
  options.replace = arguments.force;
  options.max_memory_bytes = common.max_memory;
  if (Status status = export_memory_snapshot(arguments.input, arguments.output, options); !status.ok())
    return fail(status.error());
  if (arguments.output == "-" || common.quiet) return kSuccess;
  std::string name;
  base::append_json_string(name, arguments.output);
  write_stdout(common.json ? fmt::format("{{\"schema_version\":1,\"output\":{}}}\n", name)
                           : fmt::format("{}: written\n", base::printable(arguments.output)));
  return kSuccess;
}

/// With --strict: kIncomplete, before anything is written, when a recording lost something or is damaged.
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

int run_export(const Common& common, const ExportArguments& arguments) {
  bound_memory(common);
  if (common.strict) {
    if (Status status = check_complete(common, arguments.input); !status.ok()) return fail(status.error());
  }
  if (arguments.format == "memory_viz") return run_memory_viz(common, arguments);
  if (arguments.snapshot.at != SnapshotMoment::kEnd)
    return fail(Error(ErrorCode::kInvalidArgument, "--at peak needs --format memory_viz"));
  ChromeExportOptions options = arguments.chrome;
  options.replace = arguments.force;
  options.max_memory_bytes = common.max_memory;
  options.api_calls = !arguments.no_api;
  options.counters = !arguments.no_counters;
  options.exclusive_ranges = options.inclusive_ranges = !arguments.no_projected;
  Progress progress(common.terminal, common.shows_progress(), "exporting " + arguments.input);
  options.progress = [](void* shown, std::uint64_t done, std::uint64_t total) {
    Progress::update(shown, done, total);
    return true;
  };
  options.progress_user = &progress;
  ChromeExportReport report;
  if (Status status = export_chrome_trace(arguments.input, arguments.output, options, &report); !status.ok())
    return fail(status.error());
  if (arguments.output == "-") return kSuccess;
  if (common.json) {
    std::string name;
    base::append_json_string(name, arguments.output);
    write_stdout(
        fmt::format("{{\"schema_version\":1,\"output\":{},\"events\":{},\"json_bytes\":{},\"output_bytes\":{},"
                    "\"overlapping\":{},\"left_out\":{}}}\n",
                    name, report.events, report.json_bytes, report.output_bytes, report.overlapping, report.left_out));
  } else if (!common.quiet) {
    write_stdout(fmt::format("{}: {} events, {} bytes\n", base::printable(arguments.output),
                             base::with_thousands(report.events), base::with_thousands(report.output_bytes)));
    for (const std::string& note : report.notes) write_stdout("note: " + base::printable(note) + "\n");
  }
  return kSuccess;
}

}  // namespace

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
  takes_one_of(verb->add_option("--format", arguments->format,
                                "chrome: JSON for chrome://tracing, Perfetto, TensorBoard and HTA (default); "
                                "memory_viz: allocations for PyTorch's memory viewer"),
               {"chrome", "memory_viz"})
      ->type_name("FORMAT");
  add_choice<SnapshotMoment>(
      *verb, "--at", arguments->snapshot.at, {{"end", SnapshotMoment::kEnd}, {"peak", SnapshotMoment::kPeak}},
      "With memory_viz: blocks at the end (default) or at the peak of the host and of each device")
      ->type_name("MOMENT");
  verb->add_flag("--force", arguments->force, "Replace OUT if it exists");
  verb->add_flag("--pretty", arguments->chrome.pretty, "Indent the JSON");
  verb->add_flag("--no-api", arguments->no_api, "Leave out CUDA API calls");
  verb->add_flag("--no-counters", arguments->no_counters, "Leave out counters");
  verb->add_flag("--no-projected", arguments->no_projected, "Leave out ranges on GPU rows");
  add_attribution(*verb, arguments->chrome.attribution,
                  "Attribution of device work on GPU rows: auto (default), launch, forward or capture");
  add_common(*verb, common);
  verb->callback([&common, &result, arguments] { result = run_export(common, *arguments); });
}

}  // namespace rangefinder::cli
