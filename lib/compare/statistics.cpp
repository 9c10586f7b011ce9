// SPDX-License-Identifier: MIT
#include "compare/statistics.hpp"

#include "analysis/stragglers_statistics.hpp"
#include "analysis/warm_up.hpp"
#include "base/quantile.hpp"
#include "base/random.hpp"
#include "compare/block_bootstrap.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

namespace rangefinder::compare {
namespace {

/// Draws of steps of a side, over all of its runs. They give a standard error to 3 %; more would not be seen.
constexpr std::size_t kDrawsOfSteps = 640;
constexpr double kManyDegrees = 1e6;

/// A squared standard error, with as many degrees of freedom as it was estimated with.
struct Variance {
  double value = 0;
  double degrees = kManyDegrees;
};

/// By Satterthwaite's formula.
Variance sum_of(const Variance& a, const Variance& b) {
  const double sum = a.value + b.value;
  const double parts = a.value * a.value / a.degrees + b.value * b.value / b.degrees;
  return {sum, parts > 0 ? std::clamp(sum * sum / parts, 1.0, kManyDegrees) : kManyDegrees};
}

Variance scaled(const Variance& variance, double by) { return {variance.value * by, variance.degrees}; }

struct Estimate {
  double value = 0;
  Variance variance;    ///< of `value`
  Variance run_spread;  ///< of runs around it; only of several runs
  std::size_t runs = 0;
};

double variance_of(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return values.size() > 1 ? squares / (n - 1) : 0;
}

/// Runs in the order of their figures, as shares of all: those between `first` and `last` stand for a side.
struct Window {
  double first, last;

  /// What the runs before number `run` of `count` count for, of 1.
  double weight_before(std::size_t run, std::size_t count) const {
    const double share = static_cast<double>(run) / static_cast<double>(count);
    return (std::clamp(share, first, last) - first) / (last - first);
  }
};

/// Of few runs, and of what load does not move, the half in the middle.
constexpr std::array kMiddle{Window{0.25, 0.75}};
/// Load only adds to times, and neighbours on a machine can load most of the runs: then the fast ones tell. Times by
/// those of other paths are moved to either side. So it is left to the runs which part of them varies least (Jaeckel
/// 1971). The least and the greatest are in none.
constexpr std::array kWindows{kMiddle[0], Window{0.05, 0.35}, Window{0.15, 0.55}, Window{0.45, 0.85},
                              Window{0.65, 0.95}};
/// The least of so many variances is less than that of the window that it belongs to.
constexpr double kMoreForChoice = 1.4;

std::span<const Window> windows_of(Noise noise, std::size_t fewest_runs) {
  if (noise == Noise::kExact || fewest_runs < kRunsThatTellAll) return kMiddle;
  return kWindows;
}

/// The mean of the runs in a window, of values in ascending order.
double mean_of(std::span<const double> sorted, const Window& window) {
  double mean = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    mean += sorted[i] * (window.weight_before(i + 1, sorted.size()) - window.weight_before(i, sorted.size()));
  return mean;
}

/// Squared standard error, of draws: from the middle 80 % of them. A robust figure moves far in some rare draws, which
/// say nothing of how far it moves otherwise.
double spread_of(std::vector<double>& draws) {
  constexpr double kReach = 2 * 1.2815515655446004;  // of the normal distribution, from its 10th to its 90th percentile
  std::sort(draws.begin(), draws.end());
  const double error = (base::quantile(draws, 0.9) - base::quantile(draws, 0.1)) / kReach;
  return error * error;
}

std::vector<std::span<const double>> runs_of(Samples side) {
  std::vector<std::span<const double>> runs;
  for (const std::vector<double>& run : side)
    if (!run.empty()) runs.emplace_back(run);
  return runs;
}

Variance variance_within(std::span<const double> steps, Statistic statistic, base::Random& random) {
  BlockBootstrap bootstrap(steps, statistic);
  std::vector<double> draws(kDrawsOfSteps);
  for (double& draw : draws) draw = bootstrap.draw(random);
  const auto blocks = static_cast<double>(bootstrap.blocks());
  if (blocks < 2) return {variance_of(draws), kManyDegrees};
  // Draws vary by the spread around their own mean, which is less by this much.
  return {variance_of(draws) * blocks / (blocks - 1), blocks - 1};
}

/// Of the mean of the runs in each window, when runs are drawn with replacement.
std::vector<double> resampled_runs(std::span<const double> sorted, std::span<const Window> windows, int resamples,
                                   base::Random& random) {
  const std::size_t n = sorted.size();
  const auto draws = static_cast<std::size_t>(resamples);
  std::vector<std::vector<double>> weight_before(windows.size()), means(windows.size(), std::vector<double>(draws));
  for (std::size_t window = 0; window < windows.size(); ++window)
    for (std::size_t i = 0; i <= n; ++i) weight_before[window].push_back(windows[window].weight_before(i, n));
  // A draw is counted, not sorted: how many are drawn of the runs up to each.
  std::vector<std::size_t> drawn(n + 1);
  for (std::size_t draw = 0; draw < draws; ++draw) {
    std::fill(drawn.begin(), drawn.end(), std::size_t{0});
    for (std::size_t i = 0; i < n; ++i) ++drawn[1 + random.below(n)];
    std::partial_sum(drawn.begin(), drawn.end(), drawn.begin());
    for (std::size_t window = 0; window < windows.size(); ++window) {
      const std::vector<double>& weights = weight_before[window];
      double& mean = means[window][draw];
      for (std::size_t i = 0; i < n; ++i) mean += sorted[i] * (weights[drawn[i + 1]] - weights[drawn[i]]);
    }
  }
  std::vector<double> out;
  for (std::vector<double>& of_window : means) out.push_back(spread_of(of_window));
  return out;
}

/// Of the half in the middle, with the steps of each run that was drawn resampled too.
double resampled_runs_and_steps(const std::vector<std::span<const double>>& runs, Statistic statistic, int resamples,
                                base::Random& random) {
  const std::size_t each = kDrawsOfSteps / runs.size();
  std::vector<double> figures;
  for (const std::span<const double> steps : runs) {
    BlockBootstrap bootstrap(steps, statistic);
    for (std::size_t i = 0; i < each; ++i) figures.push_back(bootstrap.draw(random));
  }
  std::vector<double> means(static_cast<std::size_t>(resamples));
  std::vector<double> drawn(runs.size());
  for (double& mean : means) {
    for (double& figure : drawn) figure = figures[random.below(figures.size())];
    std::sort(drawn.begin(), drawn.end());
    mean = midmean(drawn);
  }
  return spread_of(means);
}

/// By window.
std::vector<Estimate> estimates_of(const std::vector<std::span<const double>>& runs, Statistic statistic,
                                   std::span<const Window> windows, const StatisticsOptions& options,
                                   base::Random& random) {
  std::vector<double> figures;
  for (const std::span<const double> steps : runs) figures.push_back(figure_of_run(steps, statistic));
  std::sort(figures.begin(), figures.end());
  std::vector<Estimate> out(windows.size());
  for (std::size_t window = 0; window < windows.size(); ++window) {
    out[window].value = mean_of(figures, windows[window]);
    out[window].runs = runs.size();
  }
  if (runs.size() == 1) out[0].variance = variance_within(runs.front(), statistic, random);
  if (runs.size() < 2) return out;
  const int resamples = std::max(options.resamples, 2);
  const std::vector<double> variances =
      runs.size() < kRunsThatTellAll
          ? std::vector<double>(windows.size(), resampled_runs_and_steps(runs, statistic, resamples, random))
          : resampled_runs(figures, windows, resamples, random);
  const auto count = static_cast<double>(runs.size());
  const double more = windows.size() > 1 ? kMoreForChoice : 1;
  const Variance run_spread{variance_of(figures), count - 1};
  for (std::size_t window = 0; window < windows.size(); ++window) {
    // As within a run: the draws vary around the mean of these runs, not of all that there could be (Hesterberg 2015).
    out[window].variance = {variances[window] * more * count / (count - 1), count - 1};
    out[window].run_spread = run_spread;
  }
  return out;
}

struct Sides {
  Estimate baseline, candidate;

  double variance() const {
    if (!(baseline.value > 0) || !(candidate.value > 0)) return baseline.variance.value + candidate.variance.value;
    return baseline.variance.value / (baseline.value * baseline.value) +
           candidate.variance.value / (candidate.value * candidate.value);
  }
};

/// By the window in which they vary least.
Sides estimates_of(Samples baseline, Samples candidate, Statistic statistic, Noise noise,
                   const StatisticsOptions& options) {
  // Each side draws as it would on the other's place: which side is the baseline says nothing.
  base::Random before_random(options.seed), after_random(options.seed);
  const std::vector<std::span<const double>> before = runs_of(baseline), after = runs_of(candidate);
  const std::span<const Window> windows = windows_of(noise, std::min(before.size(), after.size()));
  const std::vector<Estimate> of_before = estimates_of(before, statistic, windows, options, before_random);
  const std::vector<Estimate> of_after = estimates_of(after, statistic, windows, options, after_random);
  Sides best{of_before[0], of_after[0]};
  for (std::size_t window = 1; window < windows.size(); ++window)
    if (const Sides each{of_before[window], of_after[window]}; each.variance() < best.variance()) best = each;
  return best;
}

/// A side of one run gets the spread of the other side's runs, as a share of the figure, or one that is assumed.
Variance with_run_spread(const Estimate& estimate, const Estimate& other, Noise noise,
                         const StatisticsOptions& options) {
  if (estimate.runs != 1) return estimate.variance;
  if (other.runs > 1) {
    const double by = other.value != 0 ? estimate.value / other.value : 1;
    return sum_of(estimate.variance, scaled(other.run_spread, by * by));
  }
  if (noise == Noise::kExact) return estimate.variance;
  const double spread = options.assumed_run_spread * estimate.value;
  return sum_of(estimate.variance, {spread * spread, kManyDegrees});
}

/// How many standard errors an interval reaches to each side.
double reach_of(double confidence, double degrees) {
  const double tail = (1 - confidence) / 2;
  double low = 0, high = 1;
  while (analysis::student_tail(high, degrees) > tail && high < 1e12) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (analysis::student_tail(middle, degrees) > tail ? low : high) = middle;
  }
  return high;
}

double p_value_of(double difference, const Variance& variance) {
  if (difference == 0) return 1;
  if (!(variance.value > 0)) return 0;
  return 2 * analysis::student_tail(std::abs(difference) / std::sqrt(variance.value), variance.degrees);
}

Interval interval_around(double middle, const Variance& variance, double confidence) {
  const double reach = variance.value > 0 ? reach_of(confidence, variance.degrees) * std::sqrt(variance.value) : 0;
  return {middle - reach, middle + reach};
}

/// One-sided, of no excess.
double chance_of(double excess, const Uncertainty& uncertainty) {
  if (!(uncertainty.error > 0)) return excess > 0 ? 0 : 1;
  const double tail = analysis::student_tail(std::abs(excess) / uncertainty.error, uncertainty.degrees);
  return excess > 0 ? tail : 1 - tail;
}

/// More pairs of runs are as good as normal.
constexpr std::size_t kMostCountedPairs = 2'500;

/// Of all orders of n and m runs, the share in which at most so many pairs have the first one's run in front. As many
/// orders have k of them as the Gaussian binomial coefficient says: the product of (1 - x^(m+i)) / (1 - x^i).
double share_of_orders(std::size_t n, std::size_t m, std::size_t most) {
  std::vector<double> orders(most + 1);
  orders[0] = 1;
  double all = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t k = most; k >= m + i; --k) orders[k] -= orders[k - m - i];
    for (std::size_t k = i; k <= most; ++k) orders[k] += orders[k - i];
    all *= static_cast<double>(m + i) / static_cast<double>(i);
  }
  return std::accumulate(orders.begin(), orders.end(), 0.0) / all;
}

Uncertainty uncertainty_of(const Variance& variance) noexcept { return {std::sqrt(variance.value), variance.degrees}; }

}  // namespace

double midmean(std::span<const double> sorted) { return mean_of(sorted, kMiddle[0]); }

double rank_chance(std::span<const double> baseline, std::span<const double> candidate) {
  const std::size_t n = baseline.size(), m = candidate.size();
  if (std::min(n, m) < kRunsThatTellAll) return 0;
  std::size_t twice_below = 0;  // pairs of runs in which the baseline's is less, twice; those alike count once
  for (const double before : baseline)
    for (const double after : candidate) twice_below += before < after ? 2 : before == after ? 1 : 0;
  const std::size_t pairs = n * m, rarer = (std::min(twice_below, 2 * pairs - twice_below) + 1) / 2;
  if (pairs <= kMostCountedPairs) return std::min(2 * share_of_orders(n, m, rarer), 1.0);
  const double away = std::max(static_cast<double>(pairs) / 2 - static_cast<double>(rarer) - 0.5, 0.0);
  return 2 * analysis::normal_tail(away / std::sqrt(static_cast<double>(pairs * (n + m + 1)) / 12));
}

double chance_if_not_beyond(const Change& change, const Limit& limit, bool above) {
  if (!change.measured()) return 1;
  const double sign = above ? 1 : -1;
  if (limit.is_share && change.ratio > 0 && limit.change > -1)
    return chance_of(sign * (std::log(change.ratio) - std::log1p(limit.change)), change.of_log_ratio);
  const double amount = limit.is_share ? limit.change * change.baseline : limit.change;
  return chance_of(sign * (change.difference - amount), change.of_difference);
}

Change change_of(Samples baseline, Samples candidate, Statistic statistic, Noise noise,
                 const StatisticsOptions& options) {
  const auto [before, after] = estimates_of(baseline, candidate, statistic, noise, options);
  Change out;
  out.baseline = before.value;
  out.candidate = after.value;
  out.baseline_runs = before.runs;
  out.candidate_runs = after.runs;
  out.run_spread_known = before.runs > 1 || after.runs > 1;
  if (!out.measured()) return out;
  const Variance of_before = with_run_spread(before, after, noise, options);
  const Variance of_after = with_run_spread(after, before, noise, options);
  const Variance both = sum_of(of_before, of_after);
  out.difference = after.value - before.value;
  out.of_difference = uncertainty_of(both);
  out.difference_interval = interval_around(out.difference, both, options.confidence);
  out.p_value = p_value_of(out.difference, both);
  if (!(before.value > 0) || !(after.value > 0)) return out;
  // In logarithms, in which a side that takes half and one that takes twice as long are equally far away.
  const Variance relative =
      sum_of(scaled(of_before, 1 / (before.value * before.value)), scaled(of_after, 1 / (after.value * after.value)));
  const double log_ratio = std::log(after.value / before.value);
  const Interval logs = interval_around(log_ratio, relative, options.confidence);
  out.ratio = after.value / before.value;
  out.of_log_ratio = uncertainty_of(relative);
  out.ratio_interval = {std::exp(logs.low), std::exp(logs.high)};
  out.p_value = p_value_of(log_ratio, relative);
  return out;
}

std::size_t warm_up_of(std::span<const double> step_ns) {
  std::vector<std::int64_t> whole;
  whole.reserve(step_ns.size());
  for (const double step : step_ns) whole.push_back(static_cast<std::int64_t>(std::clamp(step, 0.0, 9e18)));
  return analysis::warm_up_steps(whole);
}

std::vector<double> adjusted_p_values(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> out(p_values.size());
  double least = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const double p = p_values[order[rank - 1]];
    least = std::min(least, p * static_cast<double>(order.size()) / static_cast<double>(rank));
    out[order[rank - 1]] = least;
  }
  return out;
}

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kCannotTell:
      break;
  }
  return "cannot tell";
}

Verdict verdict_of(const Change& change, double adjusted_p, const JudgeOptions& options) {
  if (!change.measured()) return Verdict::kCannotTell;
  const bool relative = change.ratio > 0;
  const double threshold = relative ? options.threshold : 0;
  const double low = relative ? change.ratio_interval.low - 1 : change.difference_interval.low;
  const double high = relative ? change.ratio_interval.high - 1 : change.difference_interval.high;
  if (low >= -threshold && high <= threshold) return Verdict::kSame;
  if (adjusted_p > options.false_discovery_rate) return Verdict::kCannotTell;
  if (low > threshold) return Verdict::kWorse;
  if (high < -threshold) return Verdict::kBetter;
  return Verdict::kCannotTell;
}

}  // namespace rangefinder::compare
