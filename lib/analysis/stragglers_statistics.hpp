// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace rangefinder::analysis {

/// What is missing in a list of figures.
inline bool is_known(double value) noexcept { return !std::isnan(value); }

/// Those that are known.
std::vector<double> known_of(const std::vector<double>& values);

/// P(normal > z).
double normal_tail(double z) noexcept;

/// P(X >= hits) of `tries` with the chance `rate` each.
double binomial_tail(std::size_t tries, double rate, std::size_t hits) noexcept;

}  // namespace rangefinder::analysis
