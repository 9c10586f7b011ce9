// SPDX-License-Identifier: MIT
// Hardware counters of ranges, and samples of devices' counters.
#include "base/descending.hpp"
#include "importer/capture/capture_loader.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace rangefinder::importer {
void CaptureLoader::on_metric_samples(std::span<const format::MetricSampleRow> rows) {
  PmSampleTable& table = out_.pm_samples;
  for (const format::MetricSampleRow& row : rows) {
    const double value = format::decoded_number(row.value);
    if (!std::isfinite(value) || !believable(row)) continue;
    table.append({.device = device_of(row.device),
                  .metric = name(row.metric),
                  .begin_ns = device_time(row.begin_ns),
                  .end_ns = device_end(row.begin_ns, row.end_ns),
                  .value = value});
  }
}

void CaptureLoader::add_range_metrics() {
  if (range_metrics_.empty()) return;
  const RangeTable& ranges = out_.ranges;
  const auto key = [&](RangeIndex range) {
    return std::tuple(ranges.thread[range], ranges.name[range], ranges.begin_ns[range]);
  };
  std::vector<bool> wanted_names;
  for (const format::RangeMetricRow& row : range_metrics_) {
    const auto number = static_cast<std::size_t>(name(row.range));
    if (number >= wanted_names.size()) wanted_names.resize(number + 1);
    wanted_names[number] = true;
  }
  std::vector<RangeIndex> sorted;
  for (auto range = first_range_; range < ranges.size(); ++range) {
    const auto number = static_cast<std::size_t>(ranges.name[range]);
    if (ranges.style[range] == RangeStyle::kScoped && number < wanted_names.size() && wanted_names[number])
      sorted.push_back(range);
  }
  // Of ranges that began at the same time, the inner one is the later row or the shorter one.
  const auto before = [&](RangeIndex a, RangeIndex b) {
    return std::tuple_cat(key(a), std::tuple(base::Descending{ranges.end_ns[a]}, a)) <
           std::tuple_cat(key(b), std::tuple(base::Descending{ranges.end_ns[b]}, b));
  };
  if (!std::is_sorted(sorted.begin(), sorted.end(), before)) std::sort(sorted.begin(), sorted.end(), before);
  RangeMetricTable& table = out_.range_metrics;
  for (const format::RangeMetricRow& row : range_metrics_) {
    // Of a thread that wrote nothing there is no range.
    const ThreadIndex thread = row.thread < threads_.size() ? threads_[row.thread] : kNone;
    const StringId range_name = name(row.range);
    const auto wanted = std::tuple(thread, range_name, host_time(row.begin_ticks));
    const auto after =
        std::partition_point(sorted.begin(), sorted.end(), [&](RangeIndex range) { return !(wanted < key(range)); });
    const double value = format::decoded_number(row.value);
    const bool found =
        after != sorted.begin() && ranges.thread[*(after - 1)] == thread && ranges.name[*(after - 1)] == range_name;
    if (!found || !std::isfinite(value)) {
      ++out_.health.lost_range_counters;
      continue;
    }
    table.append({.range = *(after - 1), .device = device_of(row.device), .metric = name(row.metric), .value = value});
  }
  range_metrics_ = {};
}

}  // namespace rangefinder::importer
