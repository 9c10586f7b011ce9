// SPDX-License-Identifier: MIT
#pragma once

#include "bench/row.hpp"

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/bench/harness.hpp>

#include <functional>
#include <string>

namespace rangefinder::bench {

/// How far a benchmark has come, from 0 to kBenchmarkParts.
inline constexpr std::uint64_t kBenchmarkParts = 20;

struct MeasureOptions {
  const RunOptions& run;
  Setup setup;
  std::string folder;  ///< of this benchmark, exists
  std::function<void(std::uint64_t part)> progress;
  const MachinePeaks* peaks = nullptr;  ///< of the machine; null: not measured
  std::string device_name{};            ///< as peaks name what is measured: "host", or a GPU
};

/// Checks the outputs of a benchmark, times its variants in turns, profiles them. What goes wrong is told by the row,
/// with everything that was measured before.
Row measure(const Benchmark& benchmark, const MeasureOptions& options);

}  // namespace rangefinder::bench
