// SPDX-License-Identifier: MIT
// Hardware counters of ranges, and samples of devices' counters.
#include "timeline/capture_loader.hpp"
#include "timeline/capture_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

namespace rangefinder::timeline {
namespace {

/// The rows of a table in the order of `key`; empty where they are in it already.
template <typename Key>
std::vector<std::uint32_t> order_by(std::size_t size, Key key) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  const auto before = [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); };
  if (std::is_sorted(order.begin(), order.end(), before)) return {};
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

template <typename T>
void reorder(std::vector<T>& column, const std::vector<std::uint32_t>& order) {
  if (order.empty()) return;
  std::vector<T> sorted;
  sorted.reserve(column.size());
  for (const std::uint32_t row : order) sorted.push_back(column[row]);
  column = std::move(sorted);
}

}  // namespace

void CaptureLoader::on_metric_samples(std::span<const format::MetricSampleRow> rows) {
  MetricSampleTable& table = out_.metric_samples;
  for (const format::MetricSampleRow& row : rows) {
    const double value = format::decoded_number(row.value);
    if (!std::isfinite(value) || !believable(row)) continue;
    table.device.push_back(device_of(row.device));
    table.metric.push_back(name(row.metric));
    table.begin_ns.push_back(device_time(row.begin_ns));
    table.end_ns.push_back(device_end(row.begin_ns, row.end_ns));
    table.value.push_back(value);
  }
}

void CaptureLoader::add_range_metrics() {
  if (range_metrics_.empty()) return;
  const RangeTable& ranges = out_.ranges;
  const auto key = [&](RangeIndex range) {
    return std::tuple(ranges.thread[range], ranges.name[range], ranges.begin_ns[range]);
  };
  std::vector<RangeIndex> sorted;
  for (auto range = first_range_; range < ranges.size(); ++range) {
    if (ranges.style[range] == RangeStyle::kScoped) sorted.push_back(range);
  }
  // Of ranges that began at the same time, the inner one is the later row or the shorter one.
  std::sort(sorted.begin(), sorted.end(), [&](RangeIndex a, RangeIndex b) {
    return std::tuple_cat(key(a), std::tuple(-ranges.end_ns[a], a)) <
           std::tuple_cat(key(b), std::tuple(-ranges.end_ns[b], b));
  });
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
    table.range.push_back(*(after - 1));
    table.device.push_back(device_of(row.device));
    table.metric.push_back(name(row.metric));
    table.value.push_back(value);
  }
  range_metrics_ = {};
}

void sort_metrics(Timeline& timeline) {
  RangeMetricTable& ranges = timeline.range_metrics;
  const auto by_range = order_by(ranges.size(), [&](std::uint32_t row) { return ranges.range[row]; });
  reorder(ranges.range, by_range);
  reorder(ranges.device, by_range);
  reorder(ranges.metric, by_range);
  reorder(ranges.value, by_range);
  MetricSampleTable& samples = timeline.metric_samples;
  const auto by_time = order_by(samples.size(), [&](std::uint32_t row) {
    return std::tuple(samples.device[row], samples.metric[row], samples.begin_ns[row]);
  });
  reorder(samples.device, by_time);
  reorder(samples.metric, by_time);
  reorder(samples.begin_ns, by_time);
  reorder(samples.end_ns, by_time);
  reorder(samples.value, by_time);
}

}  // namespace rangefinder::timeline
