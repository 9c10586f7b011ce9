// SPDX-License-Identifier: MIT
#pragma once

#include "bench/row.hpp"

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/bench/worker.hpp>
#include <rangefinder/result.hpp>

#include <string>

namespace rangefinder::bench {

/// Tables of a profiled variant: ranges with host and device time, operators and memory where they were recorded, what
/// recording cost against the timed steps of `variant`. Writes the Chrome trace beside the capture, and at level deep a
/// snapshot of memory for PyTorch's memory viewer, where memory was recorded, and folded stacks of the host, where they
/// were sampled. `answer` is the worker's; `peaks` are the machine's, null where they were not measured.
Result<ProfileResult> profile_of(const std::string& capture, JsonView answer, const VariantResult& variant,
                                 ProfileLevel level, const MachinePeaks* peaks = nullptr);

}  // namespace rangefinder::bench
