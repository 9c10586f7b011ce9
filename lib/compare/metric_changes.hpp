// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"
#include "compare/statistics.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// All metrics of two sides compared at once.
namespace rangefinder::compare {

/// How one metric differs.
struct MetricChange {
  Metric metric;
  Statistic statistic;
  Change change;
  /// Of times, where run_speeds says how fast each run was: the same after each run's values are divided by its speed.
  /// What this shows is a change against the other paths of the same runs, whatever the machine did.
  std::optional<Change> relative{};
  /// Chance of no difference, adjusted for all metrics and both looks.
  double p_value = 1;
  double relative_p_value = 1;
  Verdict verdict = Verdict::kCannotTell;
  /// `relative` decided, since `change` alone could not tell.
  bool decided_by_relative = false;
};

struct ComparisonOptions {
  StatisticsOptions statistics;
  JudgeOptions judge;
  bool adjust_for_speed = true;
};

struct MetricComparison {
  std::vector<MetricChange> changes;  ///< in the order of metrics_of, those of the baseline first
  /// By how much the runs of the candidate were slower as a whole, in all paths alike. Nothing: not known.
  std::optional<Change> speed{};
};

/// How slow each run was, against the others: the median over paths of the path's time over what it usually takes. A
/// machine under load, or at a lower clock, slows all paths of a run alike; a change of the program slows some. As long
/// as it slows fewer than half of the paths, the median stays where it is. (The same idea as the size factors of
/// DESeq, Anders and Huber 2010.)
struct RunSpeeds {
  std::vector<double> baseline;  ///< of each run: 1 is usual, 1.1 takes 10 % longer
  std::vector<double> candidate;
  std::size_t paths = 0;  ///< that it was taken from; 0: too few, and all speeds are 1
};
RunSpeeds run_speeds(std::span<const Run> baseline, std::span<const Run> candidate);

/// Values of a metric of each run. A path, operator, kernel family or collective that a run lacks took no time in it;
/// of other metrics such a run has no values. All empty where no run of the side has the metric.
std::vector<std::vector<double>> side_of(std::span<const Run> runs, std::string_view metric);

/// All metrics that either side has.
std::vector<Metric> metrics_of(std::span<const Run> baseline, std::span<const Run> candidate, bool figures = false);

/// Compares all of these metrics, each by its default_statistic, and judges them together.
MetricComparison compare_metrics(std::span<const Run> baseline, std::span<const Run> candidate,
                                 const std::vector<Metric>& metrics, const ComparisonOptions& options = {});

}  // namespace rangefinder::compare
