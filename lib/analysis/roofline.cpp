// SPDX-License-Identifier: MIT
#include "analysis/roofline.hpp"

#include "analysis/counted_operators.hpp"
#include "analysis/range_metrics.hpp"
#include "analysis/range_rollup.hpp"
#include "projection/figures.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace rangefinder::analysis {
namespace {

using projection::minus;
using projection::plus;

CountedOperator* find_at(std::vector<CountedOperator>& thread, std::int64_t time_ns) {
  auto next =
      std::upper_bound(thread.begin(), thread.end(), time_ns,
                       [](std::int64_t time, const CountedOperator& counted) { return time < counted.begin_ns; });
  if (next == thread.begin()) return nullptr;
  --next;
  return time_ns < next->end_ns ? &*next : nullptr;
}

void own_by_device(const Timeline& timeline, const Projection& projection, CountedByThread& threads,
                   WorkByShapes& out) {
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    const LaunchIndex launch = activities.launch[activity];
    if (launch == kNone || timeline.launches.thread[launch] >= threads.size()) continue;
    CountedOperator* const counted =
        find_at(threads[timeline.launches.thread[launch]], timeline.launches.time_ns[launch]);
    if (counted == nullptr) continue;
    const std::int64_t length_ns = minus(activities.end_ns[activity], activities.begin_ns[activity]);
    counted->time_ns = plus(counted->time_ns, length_ns);
    const RangeIndex owner(projection.owner[activity]);
    if (owner >= out.ranges.size()) continue;
    if (counted->owner == kNone) counted->owner = owner;
    std::int64_t& known_ns = out.ranges[owner].known_ns;
    known_ns = plus(known_ns, length_ns);
  }
}

/// The innermost range that takes part, by time and thread.
void own_by_host(const Timeline& timeline, const ProjectionOptions& options, CountedByThread& threads,
                 WorkByShapes& out) {
  const RangeTable& ranges = timeline.ranges;
  std::vector<std::vector<RangeIndex>> around(timeline.threads.size());
  for (RangeIndex range{0}; range < ranges.size(); ++range)
    if (takes_part(ranges.kind[range], options) && ranges.thread[range] < around.size())
      around[ranges.thread[range]].push_back(range);
  for (ThreadIndex thread{0}; thread < threads.size(); ++thread) {
    std::vector<RangeIndex>& order = around[thread];
    std::stable_sort(order.begin(), order.end(), [&](RangeIndex a, RangeIndex b) {
      return std::pair(ranges.begin_ns[a], ranges.end_ns[b]) < std::pair(ranges.begin_ns[b], ranges.end_ns[a]);
    });
    std::vector<RangeIndex> open;
    std::size_t next = 0;
    for (CountedOperator& counted : threads[thread]) {
      counted.time_ns = minus(counted.end_ns, counted.begin_ns);
      for (; next < order.size() && ranges.begin_ns[order[next]] <= counted.begin_ns; ++next) {
        while (!open.empty() && ranges.end_ns[open.back()] <= ranges.begin_ns[order[next]]) open.pop_back();
        open.push_back(order[next]);
      }
      while (!open.empty() && ranges.end_ns[open.back()] <= counted.begin_ns) open.pop_back();
      if (open.empty()) continue;
      counted.owner = open.back();
      std::int64_t& known_ns = out.ranges[counted.owner].known_ns;
      known_ns = plus(known_ns, counted.time_ns);
    }
  }
}

std::vector<OperatorWork> by_operator(const Timeline& timeline, const CountedByThread& threads) {
  std::unordered_map<std::uint32_t, OperatorWork> names;
  for (const std::vector<CountedOperator>& thread : threads) {
    for (const CountedOperator& counted : thread) {
      const StringId name = timeline.ranges.name[counted.range];
      OperatorWork& operators = names[static_cast<std::uint32_t>(name)];
      operators.name = name;
      ++operators.calls;
      operators.work += counted.work();
      operators.work.known_ns = plus(operators.work.known_ns, counted.time_ns);
    }
  }
  std::vector<OperatorWork> out;
  out.reserve(names.size());
  for (const auto& [id, operators] : names) out.push_back(operators);
  std::sort(out.begin(), out.end(), [&](const OperatorWork& a, const OperatorWork& b) {
    return std::pair(b.work.known_ns, timeline.text(a.name)) < std::pair(a.work.known_ns, timeline.text(b.name));
  });
  return out;
}

/// "flop_tensor_bf16" is bf16, "flop_fp32" fp32; kPrecisions: no operations.
std::size_t precision_of_metric(std::string_view metric) noexcept {
  constexpr std::string_view kFlops = "flop_", kTensor = "tensor_";
  if (!metric.starts_with(kFlops)) return kPrecisions;
  metric.remove_prefix(kFlops.size());
  if (metric.starts_with(kTensor)) metric.remove_prefix(kTensor.size());
  for (std::size_t i = 0; i < kPrecisions; ++i)
    if (name_of(static_cast<Precision>(i)) == metric) return i;
  return static_cast<std::size_t>(Precision::kOther);
}

}  // namespace

std::vector<MeasuredWork> work_by_counters(const Timeline& timeline, const Projection& projection) {
  std::vector<MeasuredWork> out;
  const RangeMetrics metrics(timeline, projection);
  const RangeMetric* before = nullptr;
  for (const RangeMetric& row : metrics.rows()) {
    // Of a metric that both sources have, the exact one comes first, and counts.
    const bool again = before != nullptr && before->range == row.range && before->metric == row.metric;
    before = &row;
    if (again || row.covered_ratio == 0) continue;
    out.resize(timeline.ranges.size());
    MeasuredWork& measured = out[row.range];
    const std::string_view name = timeline.text(row.metric);
    const std::size_t precision = precision_of_metric(name);
    const bool is_bytes = name == "dram_read_bytes" || name == "dram_write_bytes";
    if (precision < kPrecisions) measured.work.flops[precision] += row.value;
    if (is_bytes) {
      measured.work.bytes += row.value;
      measured.bytes_ns = std::max(measured.bytes_ns, row.source == MetricSource::kSamples ? row.device_ns : 0);
      measured.busy_ns = std::max(measured.busy_ns, row.busy_ns);
    }
    measured.has_flops = measured.has_flops || precision < kPrecisions;
    measured.has_bytes = measured.has_bytes || is_bytes;
    if (precision < kPrecisions || is_bytes)
      measured.work.known_ns = std::max(measured.work.known_ns, static_cast<std::int64_t>(row.device_ns));
  }
  return out;
}

std::string_view name_of(Precision precision) noexcept {
  constexpr std::string_view kNames[kPrecisions] = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "other"};
  return kNames[static_cast<std::size_t>(precision)];
}

double Work::all_flops() const noexcept { return std::accumulate(flops.begin(), flops.end(), 0.0); }

Work& Work::operator+=(const Work& other) noexcept {
  for (std::size_t i = 0; i < kPrecisions; ++i) flops[i] += other.flops[i];
  bytes += other.bytes;
  known_ns = plus(known_ns, other.known_ns);
  return *this;
}

WorkByShapes work_by_shapes(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options) {
  WorkByShapes out;
  out.ranges.resize(timeline.ranges.size());
  out.on_device = timeline.activities.size() != 0;
  NotCounted not_counted;
  CountedByThread threads = counted_operators(timeline, not_counted);
  out.without_shapes = not_counted.without_shapes;
  out.of_lists = not_counted.of_lists;
  for (const std::vector<CountedOperator>& thread : threads) out.counted += thread.size();
  if (out.on_device)
    own_by_device(timeline, projection, threads, out);
  else
    own_by_host(timeline, options, threads, out);
  for (const std::vector<CountedOperator>& thread : threads) {
    for (const CountedOperator& counted : thread)
      if (counted.owner != kNone) out.ranges[counted.owner] += counted.work();
  }
  out.operators = by_operator(timeline, threads);
  return out;
}

std::optional<double> compute_seconds(const Work& work, const MachinePeaks& peaks, std::string_view device) {
  double seconds = 0;
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    if (work.flops[i] == 0) continue;
    const double most = peaks.best(device, "flops", name_of(static_cast<Precision>(i)));
    if (most <= 0) return std::nullopt;
    seconds += work.flops[i] / most;
  }
  return seconds;
}

LeastTime least_time(const Work& work, const MachinePeaks& peaks, std::string_view device) {
  LeastTime out;
  const std::optional<double> compute_s = compute_seconds(work, peaks, device);
  out.compute_s = compute_s.value_or(0);
  out.complete = compute_s && (work.all_flops() > 0 || work.bytes > 0);
  const double most_bytes = peaks.best(device, "bandwidth");
  if (most_bytes > 0)
    out.memory_s = work.bytes / most_bytes;
  else
    out.complete = false;
  return out;
}

}  // namespace rangefinder::analysis
