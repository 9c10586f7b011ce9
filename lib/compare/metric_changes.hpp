// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"
#include "compare/run_speeds.hpp"
#include "compare/statistics.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Many metrics of two sides, compared and judged together.
namespace rangefinder::compare {

/// What varies in values of a unit.
Noise noise_of(MetricUnit unit) noexcept;

/// How much a time changed against other paths of the same runs, whatever the machine did: times are divided by the
/// speed of their run.
struct RelativeChange {
  Change change;
  /// Against the paths that are most like it (PathTimes::speeds_beside), and not against all.
  bool beside_paths_alike = false;
};

/// Of times, where speeds are known.
std::optional<RelativeChange> relative_change(Samples baseline, Samples candidate, const Metric& metric,
                                              Statistic statistic, const PathTimes& times,
                                              const StatisticsOptions& options);

/// By how much the runs of the candidate were slower as a whole, in all paths alike; nothing: not known.
std::optional<Change> speed_change(const PathTimes& times, const StatisticsOptions& options);

/// Whether a relative change may speak where the plain one cannot tell: paths that change move those that do not to the
/// other side, so both have to point the same way.
inline bool points_as(const Change& relative, const Change& change) noexcept {
  return (relative.difference > 0) == (change.difference > 0);
}

struct ComparisonOptions {
  StatisticsOptions statistics;
  JudgeOptions judge;
};

/// How one metric differs, judged together with all others.
struct JudgedChange {
  Change change;
  std::optional<RelativeChange> relative{};
  double p_value = 1;  ///< of no difference, adjusted for all metrics and both looks
  double relative_p_value = 1;
  Verdict verdict = Verdict::kCannotTell;
  /// `change` alone could not tell, and `relative` could. It never says that nothing changed: what slows all paths
  /// alike is not seen in it.
  bool decided_by_relative = false;
};

/// Compares metrics, one after the other, and judges them when all are there.
class ChangeJudge {
 public:
  /// `times` has to outlive it.
  explicit ChangeJudge(const PathTimes& times, const ComparisonOptions& options = {});

  /// Series of as many runs a side as the times are of. Keeps one figure of each run.
  void add(Samples baseline, Samples candidate, const Metric& metric, Statistic statistic);
  /// Of all that were added, in order.
  std::vector<JudgedChange> judged() const;

 private:
  struct Added {
    JudgedChange judged;
    Metric metric;
    FiguresOfRuns figures;
  };

  std::vector<JudgedChange> judged(std::vector<JudgedChange> changes) const;
  bool look_again(const std::vector<JudgedChange>& first, std::vector<JudgedChange>& again) const;

  const PathTimes& times_;
  ComparisonOptions options_;
  std::vector<Added> added_;
};

struct MetricChange : JudgedChange {
  Metric metric;
  Statistic statistic;
};

struct MetricComparison {
  std::vector<MetricChange> changes;
  std::optional<Change> speed{};
};

/// All metrics that a side has, those of its first run first.
std::vector<Metric> metrics_of(std::span<const Run> runs, bool figures = false);

/// The series of metrics of a side's runs.
class SideSeries {
 public:
  explicit SideSeries(std::span<const Run> runs);
  /// Of each run. A path, operator, kernel family or collective that a run lacks took no time in it; of other metrics
  /// such a run has no values. Without any values where no run has the metric.
  std::vector<std::vector<double>> of(std::string_view metric) const;

 private:
  std::span<const Run> runs_;
  std::vector<std::vector<std::pair<std::string, const Subject*>>> subjects_;  // by run; ordered by name
};

/// Compares all of these metrics, each by its default_statistic (gate_rule.hpp), and judges them together.
MetricComparison compare_metrics(std::span<const Run> baseline, std::span<const Run> candidate,
                                 const std::vector<Metric>& metrics, const ComparisonOptions& options = {});

}  // namespace rangefinder::compare
