// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/bench/benchmark.hpp>

#include <string>

namespace rangefinder::bench {

/// What the FLOPs of a step are held against.
struct FlopsPeak {
  double flops_per_s = 0;  ///< 0: not known
  std::string missing;     ///< why not
};

/// Of the type in which the work is done, on `device` ("host", or the name of a GPU). Peaks of another processor do not
/// count; `peaks` may be null.
FlopsPeak flops_peak(const Work& work, const MachinePeaks* peaks, const std::string& device);

/// Model FLOPs utilisation: FLOPs of a step / time of a step / peak; null where there is no peak or no time.
Json model_flops_json(const Work& work, double median_wall_ns, const FlopsPeak& peak);

}  // namespace rangefinder::bench
