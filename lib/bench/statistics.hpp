// SPDX-License-Identifier: MIT
#pragma once

#include "base/quantile.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::bench {

/// Of samples in any unit. All 0 without samples.
struct Statistics {
  std::size_t count = 0;
  double mean = 0;
  double deviation = 0;  ///< of the sample (n - 1); 0 for one
  double least = 0;
  double most = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
};

Statistics statistics_of(std::span<const double> samples);

using base::quantile;

/// quantile(above) / quantile(below); 0 where either has no samples or a quantile of 0.
double ratio_of_quantiles(std::span<const double> above, std::span<const double> below, double share);
/// median(above) / median(below); 0 where either has no samples or a median of 0.
double ratio_of_medians(std::span<const double> above, std::span<const double> below);

inline constexpr std::size_t kMinSamples = 5;

struct Interval {
  double low = 0;
  double high = 0;
};

/// A 95 % bootstrap interval of median(baseline) / median(optimized), or of another quantile: both are drawn from 2000
/// times with replacement. The generator has a fixed seed, so that the same samples give the same interval. Both 0, for
/// unknown, where a variant has fewer than kMinSamples or a quantile of 0: what a few samples vary by says little of
/// what more would.
Interval ratio_interval(std::span<const double> baseline, std::span<const double> optimized, double share = 0.5);

}  // namespace rangefinder::bench
