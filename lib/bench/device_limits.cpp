// SPDX-License-Identifier: MIT
#include "bench/device_limits.hpp"

#include "bench/report_view.hpp"

#include <algorithm>
#include <string_view>

namespace rangefinder::bench {
namespace {

/// The row of the steps; null: there is none.
JsonView step_row(JsonView view) {
  for (const JsonView row : view["rows"].items())
    if (row["range"].text() == "step") return row;
  return {};
}

/// The lowest peak of the types "bf16+fp32": work of them takes no longer than at that.
double lowest_peak(const MachinePeaks& peaks, const std::string& device, std::string_view types) {
  double lowest = 0;
  while (!types.empty()) {
    const std::size_t end = std::min(types.find('+'), types.size());
    const double peak = peaks.best(device, "flops", types.substr(0, end));
    if (lowest == 0 || peak < lowest) lowest = peak;
    types.remove_prefix(std::min(end + 1, types.size()));
  }
  return lowest;
}

void add_shapes(DeviceLimits& limits, JsonView row, const MachinePeaks& peaks, const std::string& device) {
  // The view knows a bound where there is a peak for each type that was counted.
  const std::string bound = row["bound_by"].text();
  const double seconds = row["busy_ns"].number() / 1e9, of_peak = row["of_peak_percent"].number() / 100;
  if (bound.empty() || seconds <= 0) return;
  limits.source = "shapes of operators";
  limits.known = row["known_percent"].number() / 100;
  limits.memory = row["bytes_b"].number() / seconds / peaks.best(device, "bandwidth");
  const double slowest = lowest_peak(peaks, device, row["types"].text());
  limits.compute = bound == "compute" ? of_peak : std::min(of_peak, row["flops"].number() / seconds / slowest);
}

void add_counters(DeviceLimits& limits, JsonView row, double peak_bytes) {
  const double known = row["sampled_percent"].number() / 100;
  const JsonView read = row["dram_read_rate_gb_s"], written = row["dram_write_rate_gb_s"];
  const JsonView tensor = row["tensor_active_percent"], issue = row["issue_percent"];
  const bool has_memory = peak_bytes > 0 && read.is_number() && written.is_number();
  const bool has_compute = tensor.is_number() || issue.is_number();
  if (known <= 0 || (!has_memory && !has_compute)) return;
  const bool both = !limits.source.empty() && !(has_memory && has_compute);
  limits.source = both ? limits.source + " and counters" : "counters";
  limits.known = both ? std::min(limits.known, known) : known;
  if (has_memory) limits.memory = (read.number() + written.number()) * 1e9 / peak_bytes;
  if (has_compute) limits.compute = std::max(tensor.number(), issue.number()) / 100;
}

}  // namespace

std::string worked_device(const Timeline& timeline) {
  return timeline.devices[timeline.streams[timeline.activities.stream.front()].device].name;
}

Result<DeviceLimits> device_limits(const Timeline& timeline, const MachinePeaks* peaks) {
  DeviceLimits limits;
  if (timeline.activities.size() == 0) return limits;
  const std::string device = worked_device(timeline);
  ReportOptions options;
  if (peaks != nullptr) {
    options.view = "roofline";
    options.peaks = peaks;
    const Result<Json> view = report_view(timeline, options);
    if (!view) return view.error();
    add_shapes(limits, step_row(*view), *peaks, device);
  }
  if (timeline.pm_samples.size() == 0) return limits;
  options.view = "counters";
  const Result<Json> view = report_view(timeline, options);
  if (!view) return view.error();
  add_counters(limits, step_row(*view), peaks != nullptr ? peaks->best(device, "bandwidth") : 0);
  return limits;
}

}  // namespace rangefinder::bench
