// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight_labels.hpp"
#include "analysis/nsight_spread.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis::nsight {

/// Row of nvtx_kern_sum: one kernel inside ranges of one name on one thread.
struct NvtxKernelRow {
  bool in_range = false;  ///< false: launched outside any range; name, style and instances mean nothing
  Label name = 0;
  RangeStyle style = RangeStyle::kScoped;
  ThreadIndex thread = kNone;   ///< kNone: the launch is unknown
  std::uint64_t instances = 0;  ///< ranges of that name that launched the kernel
  Label kernel = 0;
  Spread duration;  ///< a kernel counts once for every range around its launch
};

/// Ordered by range, style, process, thread, total (greatest first), kernel.
///
/// Errors: kUnsupported when so many ranges overlap without one being inside the other, or so many kernels have names
/// of
///         their own, that the kernels of all ranges cannot be listed in reasonable time and memory.
/// Cost:   O((ranges + kernels) log n), and a row for each name and kernel.
Result<std::vector<NvtxKernelRow>> kernels_in_ranges(const Timeline& timeline, KernelName form, Labels& labels);

}  // namespace rangefinder::analysis::nsight
