// SPDX-License-Identifier: MIT
#pragma once

#include "report/view.hpp"

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/timeline.hpp>

#include <string>
#include <vector>

namespace rangefinder::report {

/// What the rows of a table are held against.
struct Roof {
  bool on_device = false;
  /// Devices worked, and only counters of ranges say how: the host's times are of launches.
  bool counted_alone = false;
  std::string device;                   ///< as peaks name it
  const MachinePeaks* peaks = nullptr;  ///< null: none, or of another device
};

/// `counted`: counters of ranges were recorded. Adds to `notes` why there are no peaks.
Roof roof_of(const Timeline& timeline, const ViewOptions& options, bool counted, std::vector<std::string>& notes);

}  // namespace rangefinder::report
