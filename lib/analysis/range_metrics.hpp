// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rangefinder::analysis {

enum class MetricSource : std::uint8_t {
  kRangeProfiler,  ///< counted from the range's begin to its end
  kSamples,        ///< the integral of the device's samples over the time in which the range's activities ran
};

/// A metric of a range instance, with all that is inside it.
struct RangeMetric {
  RangeIndex range = kNone;
  StringId metric = StringId::kEmpty;
  MetricSource source = MetricSource::kRangeProfiler;
  double value = 0;  ///< a sum, or the average where `is_average` says so
  /// Device time that the value is about: between push and pop where that was measured, else what samples cover of the
  /// union of the activities' intervals. 0: not known.
  double device_ns = 0;
  /// How much of the range's device time the samples cover, 0 to 1. Less than 1: the value lacks the rest; 0: there is
  /// no value, which `find` and its like leave out.
  double covered_ratio = 1;
  double busy_ns = 0;  ///< of samples: that device time
};

/// An average, and no sum: "sm_active_ratio"; of CUPTI's own "sm__cycles_active.avg" and "lts__t_sector_hit_rate.pct".
bool is_average(std::string_view metric) noexcept;

/// Hardware counters on ranges. The range profiler counts exactly what the device did from the begin of a range to its
/// end, whoever launched it. Samples see a device: where kernels of two ranges run at once, both are given all of it.
///
///   const RangeMetrics metrics(timeline, projection);
///   if (const auto bytes = metrics.dram_bytes(range)) use(bytes->value / bytes->device_ns);   // GB/s
///
/// Cost: for each metric sampled, O(activities log (ranges + samples)); negligible without samples.
class RangeMetrics {
 public:
  RangeMetrics(const Timeline& timeline, const Projection& projection);

  /// In order of range and metric; of a metric that both sources have, the range profiler's first.
  std::span<const RangeMetric> rows() const noexcept { return rows_; }
  /// Metrics that any range has, in order of first appearance in the input.
  std::span<const StringId> metrics() const noexcept { return metrics_; }
  /// Null: not measured.
  const RangeMetric* find(RangeIndex range, std::string_view metric) const noexcept;
  /// All `flop_` metrics added up; nothing where the range has none.
  std::optional<RangeMetric> flops(RangeIndex range) const noexcept;
  /// Read and written; nothing where the range has neither.
  std::optional<RangeMetric> dram_bytes(RangeIndex range) const noexcept;

 private:
  std::span<const RangeMetric> of(RangeIndex range) const noexcept;
  template <typename Wanted>
  std::optional<RangeMetric> added_up(RangeIndex range, Wanted wanted) const noexcept;
  void add_counted();
  void add_sampled(const Projection& projection);

  const Timeline& timeline_;
  std::vector<RangeMetric> rows_;
  std::vector<StringId> metrics_;
};

}  // namespace rangefinder::analysis
