// SPDX-License-Identifier: MIT
#include "analysis/stragglers_statistics.hpp"

#include <algorithm>
#include <iterator>

namespace rangefinder::analysis {

std::vector<double> known_of(const std::vector<double>& values) {
  std::vector<double> known;
  std::copy_if(values.begin(), values.end(), std::back_inserter(known), is_known);
  return known;
}

double normal_tail(double z) noexcept { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

double binomial_tail(std::size_t tries, double rate, std::size_t hits) noexcept {
  if (hits == 0) return 1;
  if (hits > tries || rate <= 0) return 0;
  if (rate >= 1) return 1;
  const auto n = static_cast<double>(tries);
  double tail = 0;
  for (std::size_t i = hits; i <= tries; ++i) {
    const auto k = static_cast<double>(i);
    const double log_ways = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
    tail += std::exp(log_ways + k * std::log(rate) + (n - k) * std::log1p(-rate));
  }
  return std::min(1.0, tail);
}

}  // namespace rangefinder::analysis
