// SPDX-License-Identifier: MIT
#pragma once

#include "bench/comparison.hpp"
#include "bench/device_limits.hpp"
#include "bench/expectations.hpp"
#include "bench/json.hpp"
#include "bench/model_flops.hpp"
#include "bench/process_use.hpp"
#include "bench/statistics.hpp"
#include "bench/step_time.hpp"

#include <rangefinder/bench/benchmark.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::bench {

enum class RowStatus : std::uint8_t {
  kPassed,
  kNoExpectation,  ///< correct, and nothing says how fast it should be: neither the benchmark nor an earlier run
  kFailed,         ///< wrong outputs, or did not run to its end
  kBelowGoal,      ///< correct, and the ratio is less than the benchmark promises
  kRegressed,      ///< correct, and worse than stored
  kSkipped,        ///< cannot run here; never counts as passed
};

std::string_view to_string(RowStatus status) noexcept;

enum class GoalState : std::uint8_t { kNotMeasured, kMet, kMissed, kNotChecked };

/// What became of a benchmark's goal.
struct GoalResult {
  GoalState state = GoalState::kNotMeasured;
  std::string reason;  ///< of kNotChecked: "at smoke", "with --validate", ...
};

std::string_view to_string(GoalState state) noexcept;

/// What profiled steps say.
struct ProfileResult {
  Json tables;  ///< null: not profiled
  std::optional<StepTime> steps;
  DeviceLimits limits;
};

/// What was measured of one of the processes that run a variant.
struct RankResult {
  std::vector<double> wall_ns;
  std::vector<double> cpu_ns;
  std::vector<double> device_ns;
  std::optional<std::int64_t> peak_bytes;
  std::optional<std::int64_t> setup_bytes;
  std::optional<std::int64_t> growth_bytes;
  Work work;
  std::vector<Metric> metrics;
  std::string capture;  ///< empty: not profiled
};

/// What was measured of one variant. Of several ranks: in each round the samples of the slowest one; bytes, work and
/// metrics of all (add_up); profile of rank 0.
struct VariantResult {
  std::string log;
  std::vector<double> wall_ns;
  std::vector<double> cpu_ns;
  std::vector<double> device_ns;             ///< empty: not measured
  std::optional<std::int64_t> energy_mj;     ///< of all timed steps
  std::string energy_missing;                ///< why there is none; empty: there is
  std::optional<std::int64_t> peak_bytes;    ///< while timed steps ran
  std::optional<std::int64_t> setup_bytes;   ///< held after set-up
  std::optional<std::int64_t> growth_bytes;  ///< held more after the timed steps than before them
  Work work;
  FlopsPeak peak;
  ProcessUse use;
  std::vector<Metric> metrics;
  ProfileResult profile;
  std::vector<RankResult> ranks;  ///< one of a single process, too

  const std::vector<double>& samples(bool by_cpu) const noexcept { return by_cpu ? cpu_ns : wall_ns; }
};

/// A benchmark and what became of it.
struct Row {
  Benchmark benchmark;
  Setup setup;
  unsigned ranks = 1;  ///< processes of a variant
  std::int64_t iterations = 0;
  std::int64_t warmup = 0;
  RowStatus status = RowStatus::kPassed;
  std::string reason;  ///< of everything but kPassed and kNoExpectation
  bool correct = false;
  std::string checked_size;  ///< of the inputs that outputs were compared for
  std::string inputs;        ///< fingerprint of both variants' inputs
  std::int64_t input_bytes = 0;
  std::int64_t output_bytes = 0;  ///< that were compared, of a variant
  Tolerance tolerance;
  Difference difference;  ///< of the optimized variant: from the reference where there is one, else from the baseline
  std::optional<Difference> baseline_difference;  ///< from the reference; none: there is no reference
  std::string reference_log;
  VariantResult baseline;
  VariantResult optimized;
  GoalResult goal;
  RegressionCheck regression;
  bool regression_checked = false;

  /// Process CPU time is the measure on a CPU, where wall time is at the mercy of whatever else runs; wall time where
  /// a device works, or where waiting is the point, as it is of ranks.
  bool by_cpu() const noexcept { return setup.device == "cpu" && benchmark.goal != Goal::kThroughput && ranks == 1; }
  /// Of medians; 0: not measured.
  double time_ratio(bool cpu) const;
  double time_ratio() const { return time_ratio(by_cpu()); }
  /// Of peak bytes; 0: not measured.
  double bytes_ratio() const;
  /// Bytes that the goal is about.
  std::optional<std::int64_t> goal_bytes(const VariantResult& variant) const;
  double least_ratio() const;

  void fail(std::string why) {
    status = RowStatus::kFailed;
    reason = std::move(why);
  }
};

/// Metrics as they are stored: "optimized.cpu_ns", "baseline.peak_bytes", ...
std::vector<Metric> metrics_of(const Row& row);
/// Those that were measured: of peak bytes, and of time, by the row's measure and by the 10th percentiles. Whatever
/// else runs on a shared machine slows one variant or the other by half and more, for seconds on end, which moves a
/// median; the fastest steps of either met none of it.
std::vector<Ratio> ratios_of(const Row& row);

/// The regression gate of a correct row: time and bytes against the goal, then stored expectations. `validate`:
/// neither.
void decide(Row& row, const Expectations& expectations, const Measured& measured, bool validate);

}  // namespace rangefinder::bench
