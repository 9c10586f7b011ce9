// SPDX-License-Identifier: MIT
#pragma once

#include "bench/row.hpp"
#include "bench/worker_process.hpp"

#include <rangefinder/bench/harness.hpp>

#include <functional>
#include <string>

namespace rangefinder::bench {

/// How far a pair has come, from 0 to kPairParts.
inline constexpr std::uint64_t kPairParts = 20;

struct MeasureOptions {
  const RunOptions& run;
  Setup setup;
  std::string folder;  ///< of this pair, exists
  std::function<void(std::uint64_t part)> progress;
};

/// Verifies a pair, times its sides in turns, profiles them. What goes wrong is told by the row, with everything that
/// was measured before.
Row measure(const Pair& pair, const MeasureOptions& options);

}  // namespace rangefinder::bench
