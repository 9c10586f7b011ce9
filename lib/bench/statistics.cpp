// SPDX-License-Identifier: MIT
#include "bench/statistics.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rangefinder::bench {
namespace {

constexpr int kDraws = 2000;

double quantile_of_a_draw(std::span<const double> samples, double share, base::Random& random,
                          std::vector<double>& scratch) {
  scratch.resize(samples.size());
  for (double& value : scratch) value = samples[random.below(samples.size())];
  std::sort(scratch.begin(), scratch.end());
  return quantile(scratch, share);
}

}  // namespace

Statistics statistics_of(std::span<const double> samples) {
  Statistics out;
  out.count = samples.size();
  if (samples.empty()) return out;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  out.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
  double squares = 0;
  for (const double value : sorted) squares += (value - out.mean) * (value - out.mean);
  if (sorted.size() > 1) out.deviation = std::sqrt(squares / (n - 1));
  out.least = sorted.front();
  out.most = sorted.back();
  out.p50 = quantile(sorted, 0.50);
  out.p90 = quantile(sorted, 0.90);
  out.p95 = quantile(sorted, 0.95);
  out.p99 = quantile(sorted, 0.99);
  return out;
}

double ratio_of_quantiles(std::span<const double> above, std::span<const double> below, double share) {
  if (above.empty() || below.empty()) return 0;
  const auto of = [share](std::span<const double> samples) {
    std::vector<double> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    return quantile(sorted, share);
  };
  const double a = of(above), b = of(below);
  return a > 0 && b > 0 ? a / b : 0;
}

double ratio_of_medians(std::span<const double> above, std::span<const double> below) {
  return ratio_of_quantiles(above, below, 0.5);
}

Interval ratio_interval(std::span<const double> baseline, std::span<const double> optimized, double share) {
  if (baseline.size() < kMinSamples || optimized.size() < kMinSamples) return {};
  base::Random random(42);
  std::vector<double> ratios, scratch;
  ratios.reserve(kDraws);
  for (int draw = 0; draw < kDraws; ++draw) {
    const double above = quantile_of_a_draw(baseline, share, random, scratch);
    const double below = quantile_of_a_draw(optimized, share, random, scratch);
    if (below > 0) ratios.push_back(above / below);
  }
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  return {quantile(ratios, 0.025), quantile(ratios, 0.975)};
}

}  // namespace rangefinder::bench
