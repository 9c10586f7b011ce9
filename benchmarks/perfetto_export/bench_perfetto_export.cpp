// SPDX-License-Identifier: MIT
//
// What an export to Perfetto's format costs.
//
//   bench_perfetto_export [--ranges N] [--repeat N] [--output FILE]
//
// Captures of N and 4 N ranges are made for the run, of ranges alone and of ranges that launch kernels; the latter are
// exported in each of the three ways in which kernels can stand in a trace.
#include "chrome_export/export_runs.hpp"

#include <rangefinder/exporters.hpp>

namespace {

using namespace rangefinder::benchmarks;
using rangefinder::PerfettoGpu;

/// Run::events are slices.
Run export_once(const std::string& capture, const std::string& output, PerfettoGpu gpu) {
  return timed_in_child([&](Run& run) {
    rangefinder::PerfettoExportOptions options;
    options.replace = true;
    options.gpu = gpu;
    rangefinder::PerfettoExportReport report;
    if (const rangefinder::Status status = export_perfetto_trace(capture, output, options, &report); !status.ok())
      throw std::runtime_error(status.error().message());
    run.bytes = report.trace_bytes;
    run.events = report.slices;
  });
}

void measure_way(const Arguments& arguments, const std::string& path, std::uint64_t ranges, std::string_view what,
                 PerfettoGpu gpu) {
  const auto runs = sorted_runs(arguments.repeat, [&] { return export_once(path, arguments.output, gpu); });
  const Run& median = runs[runs.size() / 2];
  const auto slices = static_cast<double>(median.events);
  fmt::print("| {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | {:.1f} |\n", what, ranges, median.events,
             slices / median.seconds * 1e-6, slices / runs.front().seconds * 1e-6, slices / median.cpu_seconds * 1e-6,
             static_cast<double>(median.bytes) / slices, median.peak_mib);
}

void measure(const Arguments& arguments, const std::string& path, std::uint64_t ranges, bool launches) {
  if (!launches) return measure_way(arguments, path, ranges, "ranges", PerfettoGpu::kStages);
  measure_way(arguments, path, ranges, "ranges, launches, kernels: stages", PerfettoGpu::kStages);
  measure_way(arguments, path, ranges, "ranges, launches, kernels: linked", PerfettoGpu::kLinkedStages);
  measure_way(arguments, path, ranges, "ranges, launches, kernels: slices", PerfettoGpu::kSlices);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(argc, argv);
  fmt::print(
      "| capture | ranges | slices | M slices/s | best | M slices a CPU second | bytes a slice | peak MiB |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|\n");
  for_each_capture(arguments, [&](const std::string& path, std::uint64_t ranges, bool launches) {
    measure(arguments, path, ranges, launches);
  });
  return 0;
}
