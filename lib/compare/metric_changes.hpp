// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"
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

/// How slow each run was, beside the others: a path's time by what it usually takes, of the half of paths in the
/// middle.
///
/// A machine under load, or at a lower clock, slows all paths of a run alike; a change of the program slows some. While
/// these are few, the middle stays where it is. (Anders and Huber 2010 scale samples by the median, DESeq.)
struct RunSpeeds {
  std::vector<double> baseline;  ///< of each run: 1 is usual, 1.1 takes 10 % longer
  std::vector<double> candidate;
  std::size_t paths =
      0;  ///< that tell it: of 1 % of a step and more, with none inside. 0: too few, and nothing is known
};
RunSpeeds run_speeds(std::span<const Run> baseline, std::span<const Run> candidate);

/// What varies in values of a unit.
Noise noise_of(MetricUnit unit) noexcept;

/// Of times, where speeds are known: how much a metric changed against the other paths of the same runs, whatever the
/// machine did: values are divided by the speed of their run.
std::optional<Change> relative_change(Samples baseline, Samples candidate, const Metric& metric, Statistic statistic,
                                      const RunSpeeds& speeds, const StatisticsOptions& options);

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
  std::optional<Change> relative{};  ///< relative_change
  double p_value = 1;                ///< of no difference, adjusted for all metrics and both looks
  double relative_p_value = 1;
  Verdict verdict = Verdict::kCannotTell;
  /// `change` alone could not tell, and `relative` could. It never says that nothing changed: what slows all paths
  /// alike is not seen in it.
  bool decided_by_relative = false;
};

/// Compares metrics, one after the other, and judges them when all are there.
class ChangeJudge {
 public:
  explicit ChangeJudge(RunSpeeds speeds, const ComparisonOptions& options = {});

  /// Series of as many runs a side as the speeds are of. Keeps none of them.
  void add(Samples baseline, Samples candidate, const Metric& metric, Statistic statistic);
  /// Of all that were added, in order.
  std::vector<JudgedChange> judged() const;
  /// By how much the runs of the candidate were slower as a whole, in all paths alike; nothing: not known.
  std::optional<Change> speed() const;

 private:
  RunSpeeds speeds_;
  ComparisonOptions options_;
  std::vector<JudgedChange> changes_;
  std::vector<bool> less_is_better_;
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
