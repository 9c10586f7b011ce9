// SPDX-License-Identifier: MIT
#include "analysis/range_metrics.hpp"

#include "analysis/running_time.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace rangefinder::analysis {
namespace {

/// A metric of a device over time. Samples of a sum are spread evenly over
/// their intervals; those of a ratio are weighed by the length of theirs.
class Curve {
 public:
  Curve(DeviceIndex device, StringId metric, bool ratio) : device_(device), metric_(metric), ratio_(ratio) {}

  /// In order of begin. What overlaps the sample before is left out.
  void add(std::int64_t begin_ns, std::int64_t end_ns, double value) {
    begin_ns = samples_.empty() ? begin_ns : std::max(begin_ns, samples_.back().end_ns);
    if (end_ns <= begin_ns) return;
    const auto length = static_cast<double>(end_ns - begin_ns);
    samples_.push_back({begin_ns, end_ns, ratio_ ? value * length : value});
  }

  struct Amount {
    double mass = 0;
    std::int64_t covered_ns = 0;
  };
  /// Of [begin_ns, end_ns).
  Amount between(std::int64_t begin_ns, std::int64_t end_ns) const {
    Amount amount;
    auto sample =
        std::partition_point(samples_.begin(), samples_.end(), [&](const Sample& s) { return s.end_ns <= begin_ns; });
    for (; sample != samples_.end() && sample->begin_ns < end_ns; ++sample) {
      const std::int64_t shared = std::min(sample->end_ns, end_ns) - std::max(sample->begin_ns, begin_ns);
      amount.covered_ns += shared;
      amount.mass +=
          sample->mass * (static_cast<double>(shared) / static_cast<double>(sample->end_ns - sample->begin_ns));
    }
    return amount;
  }

  DeviceIndex device() const noexcept { return device_; }
  StringId metric() const noexcept { return metric_; }

 private:
  struct Sample {
    std::int64_t begin_ns;
    std::int64_t end_ns;
    double mass;
  };
  DeviceIndex device_;
  StringId metric_;
  bool ratio_;
  std::vector<Sample> samples_;
};

std::vector<Curve> curves_of(const Timeline& timeline) {
  const PmSampleTable& samples = timeline.pm_samples;
  std::vector<Curve> curves;
  for (std::size_t row = 0; row < samples.size(); ++row) {
    if (curves.empty() || curves.back().device() != samples.device[row] ||
        curves.back().metric() != samples.metric[row])
      curves.emplace_back(samples.device[row], samples.metric[row], is_average(timeline.text(samples.metric[row])));
    curves.back().add(samples.begin_ns[row], samples.end_ns[row], samples.value[row]);
  }
  return curves;
}

std::vector<std::vector<ActivityIndex>> activities_by_device(const Timeline& timeline) {
  std::vector<std::vector<ActivityIndex>> found(timeline.devices.size());
  for (ActivityIndex activity{0}; activity < timeline.activities.size(); ++activity)
    found[timeline.streams[timeline.activities.stream[activity]].device].push_back(activity);
  return found;
}

/// Of the device time of a range.
struct SampledTime {
  double mass = 0;
  std::int64_t covered_ns = 0;
  std::int64_t busy_ns = 0;

  SampledTime& operator+=(const SampledTime& other) noexcept { return add(other, 1); }
  SampledTime& operator-=(const SampledTime& other) noexcept { return add(other, -1); }

 private:
  SampledTime& add(const SampledTime& other, int sign) noexcept {
    mass += sign * other.mass;
    covered_ns += sign * other.covered_ns;
    busy_ns += sign * other.busy_ns;
    return *this;
  }
};

}  // namespace

bool is_average(std::string_view metric) noexcept {
  const auto has = [&](std::string_view part) { return metric.find(part) != std::string_view::npos; };
  return metric.ends_with("_ratio") || (has("__") && (has(".avg") || has(".pct") || has(".ratio")));
}

RangeMetrics::RangeMetrics(const Timeline& timeline, const Projection& projection) : timeline_(timeline) {
  const auto note = [&](const auto& column) {
    for (const StringId metric : column) {
      if (std::find(metrics_.begin(), metrics_.end(), metric) == metrics_.end()) metrics_.push_back(metric);
    }
  };
  note(timeline.range_metrics.metric);
  note(timeline.pm_samples.metric);
  add_counted();
  add_sampled(projection);
  std::stable_sort(rows_.begin(), rows_.end(), [](const RangeMetric& a, const RangeMetric& b) {
    return std::tuple(a.range, a.metric, a.source) < std::tuple(b.range, b.metric, b.source);
  });
}

/// Of a range that was counted on several devices, sums add up and ratios are averages of the devices.
void RangeMetrics::add_counted() {
  const RangeMetricTable& table = timeline_.range_metrics;
  StringId time{};
  const bool has_time = timeline_.find("gpu_time_ns", time);
  for (std::size_t first = 0, end = 0; first < table.size(); first = end) {
    while (end < table.size() && table.range[end] == table.range[first]) ++end;
    std::vector<std::pair<RangeMetric, double>> found;
    for (std::size_t row = first; row < end; ++row) {
      const auto same = std::find_if(found.begin(), found.end(),
                                     [&](const auto& entry) { return entry.first.metric == table.metric[row]; });
      if (same == found.end()) {
        found.push_back({{table.range[row], table.metric[row], MetricSource::kRangeProfiler, table.value[row]}, 1});
      } else {
        same->first.value += table.value[row];
        same->second += 1;
      }
    }
    double device_ns = 0;
    for (const auto& [metric, devices] : found) {
      if (has_time && metric.metric == time) device_ns = metric.value / devices;
    }
    for (auto& [metric, devices] : found) {
      const std::string_view name = timeline_.text(metric.metric);
      if (is_average(name) || metric.metric == time) metric.value /= devices;
      metric.device_ns = device_ns;
      rows_.push_back(metric);
    }
  }
}

void RangeMetrics::add_sampled(const Projection& projection) {
  const std::vector<Curve> curves = curves_of(timeline_);
  if (curves.empty()) return;
  const std::size_t ranges = timeline_.ranges.size();
  const RangeForest forest(projection);
  const CommonRange common(projection, forest);
  const std::vector<std::vector<ActivityIndex>> on_device = activities_by_device(timeline_);
  std::vector<StringId> sampled;
  for (const Curve& curve : curves) {
    if (std::find(sampled.begin(), sampled.end(), curve.metric()) == sampled.end()) sampled.push_back(curve.metric());
  }
  for (const StringId metric : sampled) {
    RunningIntegrals<SampledTime> running(timeline_, projection, forest, common);
    for (const Curve& curve : curves) {
      if (curve.metric() != metric) continue;
      running.add(on_device[curve.device()], [&](std::int64_t begin_ns, std::int64_t end_ns) {
        const Curve::Amount amount = curve.between(begin_ns, end_ns);
        return SampledTime{amount.mass, amount.covered_ns, end_ns - begin_ns};
      });
    }
    const std::vector<SampledTime> sums = running.take();
    const bool ratio = is_average(timeline_.text(metric));
    for (RangeIndex range{0}; range < ranges; ++range) {
      const SampledTime& sum = sums[range];
      if (sum.busy_ns == 0) continue;
      const auto covered = static_cast<double>(sum.covered_ns), busy = static_cast<double>(sum.busy_ns);
      const double value = ratio && sum.covered_ns != 0 ? sum.mass / covered : sum.mass;
      rows_.push_back({range, metric, MetricSource::kSamples, value, covered, covered / busy, busy});
    }
  }
}

std::span<const RangeMetric> RangeMetrics::of(RangeIndex range) const noexcept {
  const auto [first, last] =
      std::equal_range(rows_.begin(), rows_.end(), RangeMetric{range},
                       [](const RangeMetric& a, const RangeMetric& b) { return a.range < b.range; });
  return {first, last};
}

const RangeMetric* RangeMetrics::find(RangeIndex range, std::string_view metric) const noexcept {
  for (const RangeMetric& row : of(range)) {
    if (row.covered_ratio > 0 && timeline_.text(row.metric) == metric) return &row;
  }
  return nullptr;
}

/// From one source only: what it lacks is not mixed in from the other, which saw other work.
template <typename Wanted>
std::optional<RangeMetric> RangeMetrics::added_up(RangeIndex range, Wanted wanted) const noexcept {
  for (const MetricSource source : {MetricSource::kRangeProfiler, MetricSource::kSamples}) {
    std::optional<RangeMetric> sum;
    for (const RangeMetric& row : of(range)) {
      if (row.source != source || row.covered_ratio == 0 || !wanted(timeline_.text(row.metric))) continue;
      if (!sum) {
        sum = row;
      } else {
        sum->value += row.value;
        sum->covered_ratio = std::min(sum->covered_ratio, row.covered_ratio);
      }
    }
    if (sum) return sum;
  }
  return std::nullopt;
}

std::optional<RangeMetric> RangeMetrics::flops(RangeIndex range) const noexcept {
  return added_up(range, [](std::string_view metric) { return metric.starts_with("flop_"); });
}

std::optional<RangeMetric> RangeMetrics::dram_bytes(RangeIndex range) const noexcept {
  return added_up(range,
                  [](std::string_view metric) { return metric == "dram_read_bytes" || metric == "dram_write_bytes"; });
}

}  // namespace rangefinder::analysis
