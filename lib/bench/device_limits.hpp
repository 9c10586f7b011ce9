// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <optional>
#include <string>

namespace rangefinder::bench {

/// How near the device came to what it can do, in the time in which it worked for the steps; 0 to 1.
struct DeviceLimits {
  std::optional<double> compute;  ///< of the peak of arithmetic, or of the cycles in which its pipe was busy
  std::optional<double> memory;   ///< of the bandwidth of its memory
  double known = 0;               ///< share of that time that the two are about
  std::string source;             ///< "shapes of operators", "counters", both with " and " between them; empty: none
};

/// The name of the first device that worked, as the view roofline has it. There is work on a device.
std::string worked_device(const Timeline& timeline);

/// From samples of hardware counters (`pm_sampling`) where there are some, else from the shapes of operators. Shapes
/// and bytes need `peaks`; null: there are none.
///
/// Errors:  as of write_report.
Result<DeviceLimits> device_limits(const Timeline& timeline, const MachinePeaks* peaks);

}  // namespace rangefinder::bench
