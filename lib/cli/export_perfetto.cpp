// SPDX-License-Identifier: MIT
#include "cli/export_perfetto.hpp"

#include "base/text.hpp"
#include "cli/values.hpp"

#include <fmt/format.h>

namespace rangefinder::cli {

void add_perfetto_options(CLI::App& verb, PerfettoExportOptions& options) {
  add_choice<PerfettoGpu>(
      verb, "--gpu", options.gpu,
      {{"stages", PerfettoGpu::kStages}, {"linked", PerfettoGpu::kLinkedStages}, {"slices", PerfettoGpu::kSlices}},
      "With perfetto: kernels and copies as render stages (default), as render stages linked to their "
      "launches by Perfetto's extension for GPUs, or as slices")
      ->type_name("HOW");
}

int run_perfetto(const Common& common, const std::string& input, const std::string& output,
                 PerfettoExportOptions options, const ChromeExportOptions& chrome) {
  options.replace = chrome.replace;
  options.max_memory_bytes = chrome.max_memory_bytes;
  options.api_calls = chrome.api_calls;
  options.counters = chrome.counters;
  options.inclusive_ranges = chrome.inclusive_ranges;
  options.exclusive_ranges = chrome.exclusive_ranges;
  options.attribution = chrome.attribution;
  Progress progress(common.terminal, common.shows_progress(), "exporting " + input);
  progress.watch(options);
  PerfettoExportReport report;
  if (Status status = export_perfetto_trace(input, output, options, &report); !status.ok()) return fail(status.error());
  if (output == "-") return kSuccess;
  if (common.json) {
    std::string name;
    base::append_json_string(name, output);
    write_stdout(
        fmt::format("{{\"schema_version\":1,\"output\":{},\"events\":{},\"slices\":{},\"trace_bytes\":{},"
                    "\"output_bytes\":{},\"overlapping\":{},\"left_out\":{}}}\n",
                    name, report.events, report.slices, report.trace_bytes, report.output_bytes, report.overlapping,
                    report.left_out));
  } else if (!common.quiet) {
    write_stdout(fmt::format("{}: {} events, {} bytes\n", base::printable(output), base::with_thousands(report.events),
                             base::with_thousands(report.output_bytes)));
    for (const std::string& note : report.notes) write_stdout("note: " + base::printable(note) + "\n");
  }
  return kSuccess;
}

}  // namespace rangefinder::cli
