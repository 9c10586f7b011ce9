// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace rangefinder::analysis {

/// The lower of the two in the middle, so that of two ranks the faster one is the reference; 0 of nothing. Reorders.
double median_of(std::vector<double>& values);

/// What is missing in a list of figures.
inline bool is_known(double value) noexcept { return !std::isnan(value); }

/// Those that are known.
std::vector<double> known_of(const std::vector<double>& values);

/// 1.4826 times the median absolute deviation from `middle`: the standard deviation of normal values, not moved by a
/// few that are far off. 0 of nothing.
double robust_deviation(std::vector<double> values, double middle);

/// A deviation of the median tells as much as 0.37 times as many values do by their standard deviation.
inline constexpr double kMedianInformation = 0.37;

/// Standard error of the median of `count` normal values: its variance is pi/2 of the mean's.
inline double median_error(double deviation, double count) noexcept {
  constexpr double kPiHalves = 1.5707963267948966;
  return deviation * std::sqrt(kPiHalves / count);
}

/// P(normal > z).
double normal_tail(double z) noexcept;

/// P(X >= hits) of `tries` with the chance `rate` each.
double binomial_tail(std::size_t tries, double rate, std::size_t hits) noexcept;

}  // namespace rangefinder::analysis
