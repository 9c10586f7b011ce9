// SPDX-License-Identifier: MIT
#include "analysis/medians.hpp"

#include <algorithm>
#include <cstddef>

namespace rangefinder::analysis {

double median_of(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double robust_deviation(std::vector<double> values, double middle) {
  constexpr double kNormal = 1.4826;
  for (double& value : values) value = std::abs(value - middle);
  return kNormal * median_of(values);
}

}  // namespace rangefinder::analysis
