// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/roofline.hpp"
#include "analysis/steps.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// What the operators of a step computed.
struct StepWork {
  Work work;                  ///< by the shapes of operators' inputs (counted_operators); without times
  std::uint32_t devices = 0;  ///< on which the process did anything at any time; 0: it has none
};

/// Parallel to `steps`, which are those of analyse_steps: an operator is part of the step in which it began, on any
/// thread of the process, so that those of the backward pass are. Empty where no operator of a step has any operations.
///
/// Cost: O(n log n) in operators, and one pass over the activities.
std::vector<StepWork> work_of_steps(const Timeline& timeline, const std::vector<StepFigures>& steps);

/// Model FLOPs utilisation, MFU: the time in which the peaks of the machine allow for the operations of the step, by
/// the time of the step; with several devices, by theirs together. Nothing where a peak is not known, and without
/// operations.
std::optional<double> utilisation_of(const StepWork& step, std::int64_t step_ns, const MachinePeaks& peaks,
                                     std::string_view device);

}  // namespace rangefinder::analysis
