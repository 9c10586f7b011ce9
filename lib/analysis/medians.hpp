// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <vector>

namespace rangefinder::analysis {

/// The lower of the two in the middle: of two ranks the faster one is the reference, and of two steps a slow one does
/// not move it. 0 of nothing. Reorders.
double median_of(std::vector<double>& values);

/// 1.4826 times the median absolute deviation from `middle`: the standard deviation of normal values, not moved by a
/// few that are far off. 0 of nothing.
double robust_deviation(std::vector<double> values, double middle);

/// A deviation of the median tells as much as 0.37 times as many values do by their standard deviation.
inline constexpr double kMedianInformation = 0.37;

/// The variance of the median of normal values, over that of their mean: pi/2.
inline constexpr double kMedianVariance = 1.5707963267948966;

/// Standard error of the median of `count` normal values.
inline double median_error(double deviation, double count) noexcept {
  return deviation * std::sqrt(kMedianVariance / count);
}

}  // namespace rangefinder::analysis
