// SPDX-License-Identifier: MIT
#include "exporter/chrome/export_run.hpp"
#include "exporter/perfetto/trace_writer.hpp"

#include <rangefinder/exporters.hpp>

#include <memory>
#include <utility>

namespace rangefinder {
namespace {

/// The same content as a Chrome export by these options.
ChromeExportOptions content_of(const PerfettoExportOptions& options) {
  ChromeExportOptions out;
  out.compression = options.compression;
  out.replace = options.replace;
  out.api_calls = options.api_calls;
  out.syncs = options.syncs;
  out.overheads = options.overheads;
  out.counters = options.counters;
  out.flows = options.flows;
  out.inclusive_ranges = options.inclusive_ranges;
  out.exclusive_ranges = options.exclusive_ranges;
  out.attribution = options.attribution;
  out.begin_ns = options.begin_ns;
  out.end_ns = options.end_ns;
  out.max_memory_bytes = options.max_memory_bytes;
  out.progress = options.progress;
  out.progress_user = options.progress_user;
  return out;
}

template <typename Export>
Status export_with(const PerfettoExportOptions& options, PerfettoExportReport* report, Export run) {
  perfetto::Written written;
  const PerfettoGpu gpu =
      options.gpu == PerfettoGpu::kLinkedStages && !options.flows ? PerfettoGpu::kStages : options.gpu;
  const chrome::MakeTarget make_target = [&](chrome::TextOutput& out) -> std::unique_ptr<chrome::EventTarget> {
    return std::make_unique<perfetto::TraceWriter>(out, gpu, options.api_calls, written);
  };
  ChromeExportReport content;
  Status status = run(content_of(options), &content, make_target);
  if (report == nullptr) return status;
  report->events = content.events;
  report->slices = written.slices;
  report->trace_bytes = content.json_bytes;
  report->output_bytes = content.output_bytes;
  report->overlapping = content.overlapping;
  report->left_out = content.left_out + written.without_row;
  report->notes = std::move(content.notes);
  return status;
}

}  // namespace

Status export_perfetto_trace(const std::string& input, const std::string& output, const PerfettoExportOptions& options,
                             PerfettoExportReport* report) {
  return export_with(options, report, [&](const auto& content, auto* said, const auto& make_target) {
    return chrome::export_file(input, output, content, said, make_target);
  });
}

Status export_perfetto_trace(const Timeline& timeline, const std::string& output, const PerfettoExportOptions& options,
                             PerfettoExportReport* report) {
  return export_with(options, report, [&](const auto& content, auto* said, const auto& make_target) {
    return chrome::export_timeline(timeline, output, content, said, make_target);
  });
}

}  // namespace rangefinder
