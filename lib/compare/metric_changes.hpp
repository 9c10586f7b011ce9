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

/// How slow each run was, beside the others: the median over paths of a path's time by what it usually takes.
///
/// A machine under load, or at a lower clock, slows all paths of a run alike; a change of the program slows some. While
/// it slows fewer than half of them, the median stays where it is. (Anders and Huber 2010 scale samples so, DESeq.)
struct RunSpeeds {
  std::vector<double> baseline;  ///< of each run: 1 is usual, 1.1 takes 10 % longer
  std::vector<double> candidate;
  std::size_t paths =
      0;  ///< that tell it: of 1 % of a step and more, with none inside. 0: too few, and nothing is known
};
RunSpeeds run_speeds(std::span<const Run> baseline, std::span<const Run> candidate);

/// The values of each run divided by its speed.
std::vector<std::vector<double>> at_usual_speed(Samples runs, const std::vector<double>& speeds);

/// What varies in values of a unit.
Noise noise_of(MetricUnit unit) noexcept;

struct ComparisonOptions {
  StatisticsOptions statistics;
  JudgeOptions judge;
};

/// How one metric differs, judged together with all others.
struct JudgedChange {
  Change change;
  /// Of times, where the speeds of runs are known: the same of values that are divided by the speed of their run. It
  /// shows changes against the other paths of the same runs, whatever the machine did.
  std::optional<Change> relative{};
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
