// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace rangefinder::base {

/// Where a quantile lies among `count` values: between the rank `below` and the next, `part` of the way.
struct QuantileRank {
  std::size_t below = 0;
  double part = 0;
};

/// By linear interpolation between the ranks around it, as numpy does; `share` from 0 to 1, `count` not 0.
inline QuantileRank quantile_rank(std::size_t count, double share) noexcept {
  const double rank = share * static_cast<double>(count - 1);
  const auto below = std::min(static_cast<std::size_t>(rank), count - 1);
  return {below, rank - static_cast<double>(below)};
}

/// Of values in ascending order, of which there is at least one.
inline double quantile(std::span<const double> sorted, double share) noexcept {
  const QuantileRank rank = quantile_rank(sorted.size(), share);
  const double low = sorted[rank.below], high = sorted[std::min(rank.below + 1, sorted.size() - 1)];
  return low + (high - low) * rank.part;
}

}  // namespace rangefinder::base
