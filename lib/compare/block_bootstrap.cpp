// SPDX-License-Identifier: MIT
#include "compare/block_bootstrap.hpp"

#include "base/quantile.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rangefinder::compare {
namespace {

/// Autocorrelations are looked at up to this lag: of runs with many steps, further ones take long to compute.
constexpr std::size_t kLongestLag = 200;

/// Autocovariances of lags 0 to `longest`.
std::vector<double> autocovariances(std::span<const double> values, std::size_t longest) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  std::vector<double> centred(values.begin(), values.end());
  for (double& value : centred) value -= mean;
  std::vector<double> out(longest + 1);
  for (std::size_t lag = 0; lag <= longest; ++lag)
    out[lag] =
        std::inner_product(centred.begin() + static_cast<std::ptrdiff_t>(lag), centred.end(), centred.begin(), 0.0) / n;
  return out;
}

/// The lag from which on a row of autocorrelations is no more than chance: the "m" of Politis and White.
std::size_t reach_of(const std::vector<double>& covariances, std::size_t count, std::size_t row) {
  const auto n = static_cast<double>(count);
  const double chance = 2 * std::sqrt(std::log10(n) / n) * covariances[0];
  std::size_t last = 0, quiet = 0;
  for (std::size_t lag = 1; lag < covariances.size(); ++lag) {
    if (std::abs(covariances[lag]) >= chance) {
      last = lag;
      quiet = 0;
    } else if (++quiet == row) {
      break;
    }
  }
  return std::max<std::size_t>(last, 1);
}

std::vector<std::uint32_t> order_of(std::span<const double> values) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; });
  return order;
}

}  // namespace

std::size_t block_length(std::span<const double> steps) {
  const std::size_t n = steps.size();
  if (n < 6) return 1;
  const double root = std::sqrt(static_cast<double>(n));
  const auto row = static_cast<std::size_t>(std::max(5.0, std::ceil(std::sqrt(std::log10(static_cast<double>(n))))));
  const std::size_t longest = std::min({static_cast<std::size_t>(std::ceil(root)) + row, kLongestLag, n - 1});
  const std::vector<double> covariances = autocovariances(steps, longest);
  if (!(covariances[0] > 0)) return 1;
  const std::size_t window = std::min(2 * reach_of(covariances, n, row), longest);
  double bias = 0, spectrum = covariances[0];
  for (std::size_t lag = 1; lag <= window; ++lag) {
    const double part = static_cast<double>(lag) / static_cast<double>(window);
    const double weight = part <= 0.5 ? 1 : 2 * (1 - part);
    bias += 2 * weight * static_cast<double>(lag) * covariances[lag];
    spectrum += 2 * weight * covariances[lag];
  }
  if (spectrum == 0) return 1;
  const double best = std::cbrt(1.5 * bias * bias / (spectrum * spectrum) * static_cast<double>(n));
  const double most = std::ceil(std::min(3 * root, static_cast<double>(n) / 3));
  return static_cast<std::size_t>(std::clamp(std::round(best), 1.0, most));
}

double figure_of_run(std::span<const double> steps, Statistic statistic) {
  if (statistic.kind == Statistic::Kind::kMean)
    return std::accumulate(steps.begin(), steps.end(), 0.0) / static_cast<double>(steps.size());
  std::vector<double> values(steps.begin(), steps.end());
  if (statistic.kind == Statistic::Kind::kFast) {
    std::erase_if(values, [](double value) { return !(value > 0); });
    if (values.empty()) return 0;
  }
  const double times = static_cast<double>(values.size()) / static_cast<double>(steps.size());
  const base::QuantileRank rank = base::quantile_rank(values.size(), statistic.share);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(rank.below);
  std::nth_element(values.begin(), below, values.end());
  if (rank.part == 0) return *below * times;
  return (*below + (*std::min_element(below + 1, values.end()) - *below) * rank.part) * times;
}

BlockBootstrap::BlockBootstrap(std::span<const double> steps, Statistic statistic)
    : statistic_(statistic), values_(steps.begin(), steps.end()) {
  if (statistic.kind == Statistic::Kind::kMean) {
    length_ = block_length(steps);
    sums_.resize(2 * steps.size() + 1);
    for (std::size_t i = 0; i + 1 < sums_.size(); ++i) sums_[i + 1] = sums_[i] + steps[i % steps.size()];
    return;
  }
  const std::vector<std::uint32_t> order = order_of(steps);
  ranks_.resize(steps.size());
  // Of ranks, so that a step that took a hundred times as long does not hide how alike the others are.
  std::vector<double> rank_series(steps.size());
  double rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    values_[i] = steps[order[i]];
    ranks_[order[i]] = static_cast<std::uint32_t>(i);
    if (i == 0 || values_[i] != values_[i - 1]) rank = static_cast<double>(i);
    rank_series[order[i]] = rank;
  }
  length_ = block_length(rank_series);
  counts_.resize(steps.size());
  if (statistic.kind == Statistic::Kind::kFast)
    first_rank_ = static_cast<std::size_t>(
        std::partition_point(values_.begin(), values_.end(), [](double value) { return !(value > 0); }) -
        values_.begin());
}

template <typename Use>
void BlockBootstrap::each_block(base::Random& random, Use use) const {
  const std::size_t n = values_.size();
  for (std::size_t drawn = 0; drawn < n; drawn += length_) use(random.below(n), std::min(length_, n - drawn));
}

double BlockBootstrap::draw_mean(base::Random& random) const {
  double sum = 0;
  each_block(random, [&](std::size_t begin, std::size_t count) { sum += sums_[begin + count] - sums_[begin]; });
  return sum / static_cast<double>(values_.size());
}

double BlockBootstrap::draw_quantile(base::Random& random) {
  const std::size_t n = values_.size();
  std::fill(counts_.begin(), counts_.end(), 0u);
  each_block(random, [&](std::size_t begin, std::size_t count) {
    const std::size_t to_end = std::min(count, n - begin);
    for (std::size_t i = begin; i < begin + to_end; ++i) ++counts_[ranks_[i]];
    for (std::size_t i = 0; i < count - to_end; ++i) ++counts_[ranks_[i]];
  });
  // Counting instead of sorting: the draw's values in ascending order are those of the run, some of them repeatedly.
  const std::size_t left_out =
      std::accumulate(counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(first_rank_), std::size_t{0});
  if (left_out == n) return 0;
  const double times = static_cast<double>(n - left_out) / static_cast<double>(n);
  const base::QuantileRank wanted = base::quantile_rank(n - left_out, statistic_.share);
  std::size_t rank = first_rank_, seen = counts_[rank];
  while (seen <= wanted.below) seen += counts_[++rank];
  const double low = values_[rank];
  if (wanted.part == 0) return low * times;
  while (seen <= wanted.below + 1) seen += counts_[++rank];
  return (low + (values_[rank] - low) * wanted.part) * times;
}

double BlockBootstrap::draw(base::Random& random) {
  return statistic_.kind == Statistic::Kind::kMean ? draw_mean(random) : draw_quantile(random);
}

}  // namespace rangefinder::compare
