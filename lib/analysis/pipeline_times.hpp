// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/pipeline_messages.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// A step of a process as far as itself tells, nanoseconds.
struct PipelineStepTime {
  std::int64_t number;
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::int64_t busy_ns;
};

struct PipelineProcessTimes {
  bool on_device = false;
  /// In order. Of devices: from the first begin to the last end of what was launched in the step.
  std::vector<PipelineStepTime> steps;
};

/// By process, of those with messages.
std::vector<PipelineProcessTimes> pipeline_times(const Timeline& timeline, const PipelineWindows& windows,
                                                 const PipelineMessages& messages);

}  // namespace rangefinder::analysis
