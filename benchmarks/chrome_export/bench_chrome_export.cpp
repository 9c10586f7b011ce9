// SPDX-License-Identifier: MIT
//
// What an export to Chrome JSON costs.
//
//   bench_chrome_export [--ranges N] [--repeat N] [--output FILE]
//
// Captures of N and 4 N ranges are made for the run, of ranges alone and of ranges that launch kernels. Each export
// runs in a process of its own, so that the peak of memory is its own, and writes to FILE (default /dev/null).
#include "chrome_export/export_runs.hpp"

#include <rangefinder/exporters.hpp>

namespace {

using namespace rangefinder::benchmarks;

Run export_once(const std::string& capture, const std::string& output) {
  return timed_in_child([&](Run& run) {
    rangefinder::ChromeExportOptions options;
    options.replace = true;
    rangefinder::ChromeExportReport report;
    if (const rangefinder::Status status = export_chrome_trace(capture, output, options, &report); !status.ok())
      throw std::runtime_error(status.error().message());
    run.bytes = report.json_bytes;
    run.events = report.events;
  });
}

void measure(const Arguments& arguments, const std::string& path, std::uint64_t ranges, bool launches) {
  const auto runs = sorted_runs(arguments.repeat, [&] { return export_once(path, arguments.output); });
  const Run& median = runs[runs.size() / 2];
  const auto count = static_cast<double>(ranges);
  fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | {:.1f} |\n",
             launches ? "ranges, launches, kernels" : "ranges", ranges, count / median.seconds * 1e-6,
             count / runs.front().seconds * 1e-6, static_cast<double>(median.events) / median.seconds * 1e-6,
             static_cast<double>(median.bytes) / count, median.peak_mib);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(argc, argv);
  fmt::print(
      "| capture | ranges | M ranges/s | best | M events/s | bytes a range | peak MiB "
      "|\n|---|---:|---:|---:|---:|---:|---:|\n");
  for_each_capture(arguments, [&](const std::string& path, std::uint64_t ranges, bool launches) {
    measure(arguments, path, ranges, launches);
  });
  return 0;
}
