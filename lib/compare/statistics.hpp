// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

// Whether a figure of two sides, each of one or more runs, differs by more than chance. Pure functions of numbers.
namespace rangefinder::compare {

/// What stands for a run: a figure of its steps.
struct Statistic {
  enum class Kind : std::uint8_t {
    kMean,
    kQuantile,
    kFast,  ///< what fast steps take: a quantile of the steps that are above 0, times their share of all steps
  };
  Kind kind = Kind::kQuantile;
  double share = 0.5;  ///< of quantiles, 0 to 1: 0.5 is the median, 0 the least

  static constexpr Statistic mean() noexcept { return {Kind::kMean, 0}; }
  static constexpr Statistic quantile(double share) noexcept { return {Kind::kQuantile, share}; }
  /// Of times. Load makes steps longer and never shorter, so the fast ones tell. A path that every fourth step has,
  /// such as an optimizer behind accumulated gradients, counts by what it takes in those steps; a quantile of all is 0.
  static constexpr Statistic fast() noexcept { return {Kind::kFast, 0.05}; }
  friend bool operator==(const Statistic&, const Statistic&) = default;
};

/// Where the values of a metric come from, which decides what runs stand for a side, and whether a side of one run is
/// widened.
enum class Noise : std::uint8_t {
  kTimed,  ///< times and rates: they vary from run to run, whatever the program does
  kExact,  ///< counts and bytes: what the program did, and not how fast the machine was
};

/// From so many runs on, runs tell all: figures of runs already vary by what steps do, which resampled steps would
/// count again (Davison and Hinkley 1997, section 3.8). Of fewer runs the spread is hardly known, and resampled steps
/// keep it from being taken for nothing.
inline constexpr std::size_t kRunsThatTellAll = 8;

struct StatisticsOptions {
  double confidence = 0.95;  ///< of intervals, above 0 and below 1
  int resamples = 2'000;     ///< of runs; within a run, fewer are enough (statistics.cpp says why)
  std::uint64_t seed = 42;   ///< the same samples and seed give the same answer on every machine
  /// The run-to-run standard deviation, as a share of the figure, that is taken where both sides are single runs and
  /// nothing tells it. Where one side has several runs, the other gets that side's.
  double assumed_run_spread = 0.02;
};

struct Interval {
  double low = 0;
  double high = 0;
};

/// How much chance moves a figure: a standard error, with as many degrees of freedom as it was estimated with.
struct Uncertainty {
  double error = 0;
  double degrees = 0;
};

/// The values of a metric on one side: of each run, those of its steps in order, without warm-up. A metric of a whole
/// run (peak memory) has one value. Runs without values are left out.
using Samples = std::span<const std::vector<double>>;

/// A figure of both sides, with what chance can make of the difference.
struct Change {
  double baseline = 0;  ///< over runs, of the statistic of a run (change_of); 0 where the side has no values
  double candidate = 0;
  double difference = 0;  ///< candidate - baseline
  Interval difference_interval;
  Uncertainty of_difference;
  double ratio = 0;  ///< candidate / baseline; 0, with its interval: unknown, since one of them is not above 0
  Interval ratio_interval;
  Uncertainty of_log_ratio;  ///< of the natural logarithm of the ratio
  double p_value = 1;        ///< two-sided, of no difference
  std::size_t baseline_runs = 0;
  std::size_t candidate_runs = 0;
  /// False: both sides are single runs. Intervals of times are then widened by StatisticsOptions::assumed_run_spread.
  bool run_spread_known = false;

  bool measured() const noexcept { return baseline_runs > 0 && candidate_runs > 0; }
};

/// Compares the statistic of two sides.
///
/// A run's figure is the statistic of its steps, and a side's the mean of a part of its runs: of few runs, of counts
/// and of bytes the half in the middle. Where both sides have eight and more, it is the part of them that varies least:
/// as a rule the fast ones, since load on the machine only adds to times. What only a few runs show is in none. Runs
/// are resampled first, and then blocks of steps within them, since steps that follow each other are alike
/// (block_length). The standard error that this gives is corrected for few runs, and intervals and p-values are
/// Student's with as many degrees of freedom as runs allow (Welch).
///
/// 2,000 resamples of 20 runs of 200 steps a side take about two milliseconds.
Change change_of(Samples baseline, Samples candidate, Statistic statistic, Noise noise = Noise::kTimed,
                 const StatisticsOptions& options = {});

/// Chance that runs which do not differ are ordered as unlike as these, two-sided, whatever their figures vary by (Mann
/// and Whitney 1947). 0 where a side has less than eight runs: their order says little.
double rank_chance(std::span<const double> baseline, std::span<const double> candidate);

/// A change that matters, with its sign: a share of the baseline (0.02 is 2 %), or an amount in the metric's unit.
struct Limit {
  double change = 0;
  bool is_share = true;
};

/// Chance that a change which is not above the limit looks as far above it as this one (`above`), or that one which is
/// not below it looks as far below: one-sided p-values. Of a ratio that is not known, the share is one of the
/// baseline's amount.
double chance_if_not_beyond(const Change& change, const Limit& limit, bool above);

/// How many steps in a row are drawn together: after Politis and White (2004, corrected 2009) for the circular block
/// bootstrap, from how far the autocorrelation of the steps reaches. 1 where they are independent; at most a third.
std::size_t block_length(std::span<const double> steps);

/// The mean of the half in the middle, of values in ascending order; of none, 0.
double midmean(std::span<const double> sorted);

/// The statistic of a run's steps, of which there is at least one; quantiles as base::quantile has them.
double figure_of_run(std::span<const double> steps, Statistic statistic);

/// Steps that a comparison leaves out at the front: analysis::warm_up_steps of the times of all steps of a run.
std::size_t warm_up_of(std::span<const double> step_ns);

/// p-values corrected for how many there are, in the same order: with those of at most q called changes, the expected
/// share of false ones among them is q at most (Benjamini and Hochberg 1995).
std::vector<double> adjusted_p_values(std::span<const double> p_values);

enum class Verdict : std::uint8_t {
  kSame,        ///< the interval lies within the threshold
  kBetter,      ///< lower by more than the threshold, and not by chance
  kWorse,       ///< higher by more than the threshold, and not by chance
  kCannotTell,  ///< the interval reaches across the threshold, or there is nothing to compare
};

/// "same", "better", "worse", "cannot tell".
std::string_view to_string(Verdict verdict) noexcept;

struct JudgeOptions {
  double threshold = 0.005;            ///< changes that matter, as a share of the baseline
  double false_discovery_rate = 0.01;  ///< of the p-values, adjusted for all metrics that are judged together
};

/// What to call a change of a metric of which less is better. `adjusted_p`: its member of adjusted_p_values. Of a
/// baseline of 0, any difference is more than the threshold.
Verdict verdict_of(const Change& change, double adjusted_p, const JudgeOptions& options = {});

}  // namespace rangefinder::compare
