// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace rangefinder::testing {

/// Steps that follow each other alike: normal, around `middle`, each with that correlation to the one before.
std::vector<double> autocorrelated(std::mt19937_64& random, std::size_t count, double correlation, double middle,
                                   double deviation);

/// A run of a program on the host whose steps are paths one after the other, "train/p0" and so on.
struct SyntheticRun {
  std::size_t steps = 60;
  std::vector<double> path_ns = {1e6, 2e6, 3e6, 1e6, 2e6, 3e6};
  double speed = 1;     ///< of the machine: all paths take so many times as long
  double noise = 0.01;  ///< standard deviation of a path in a step, as a share
  std::int64_t peak_bytes = -1;

  compare::Run make(std::mt19937_64& random) const;
};

/// So many of them, each with a speed of its own around that of `shape`.
std::vector<compare::Run> synthetic_runs(std::mt19937_64& random, std::size_t count, const SyntheticRun& shape,
                                         double speed_deviation);

}  // namespace rangefinder::testing
