// SPDX-License-Identifier: MIT
#pragma once

#include "base/random.hpp"
#include "compare/statistics.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::compare {

/// Draws figures that a run could have had, by the circular block bootstrap: blocks of steps that follow each other,
/// from anywhere and over the end back to the begin, until there are as many steps as the run has.
class BlockBootstrap {
 public:
  /// There is at least one step.
  BlockBootstrap(std::span<const double> steps, Statistic statistic);

  /// The statistic of one draw. O(steps).
  double draw(base::Random& random);
  /// How many blocks a draw is made of; the last may be shorter.
  std::size_t blocks() const noexcept { return (values_.size() + length_ - 1) / length_; }
  std::size_t block_steps() const noexcept { return length_; }

 private:
  double draw_mean(base::Random& random) const;
  double draw_quantile(base::Random& random);
  template <typename Use>
  void each_block(base::Random& random, Use use) const;

  Statistic statistic_;
  std::size_t length_ = 1;
  // A mean: running sums over the steps in order, twice, from 0. A quantile: the steps in ascending order.
  std::vector<double> values_;
  std::vector<double> sums_;
  std::vector<std::uint32_t> ranks_;   // of each step in `values_`
  std::vector<std::uint32_t> counts_;  // of each rank in a draw
  std::size_t first_rank_ = 0;         // that counts: of kFast, the first above 0
};

}  // namespace rangefinder::compare
