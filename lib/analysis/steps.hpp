// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/step_rules.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis {

/// A figure that the data does not hold.
inline constexpr std::int64_t kNotKnown = kNoTime;

/// One step of one process.
///
/// Host time is divided completely: the parts, but for kRecompute, which is inside of others, and `other_ns` add up
/// to the step. What belongs to a part is found on the thread that marks steps (or, where no range of a known name is
/// there, the thread of the process that has most of them): ranges by their names, of nested ones the outermost; where
/// no range of the process is a backward pass, the time in which its nodes of autograd ran; and where none is a forward
/// pass, operators of the thread that stand in nothing else, provided that there are nodes.
struct StepFigures {
  ProcessIndex process{0};
  std::int64_t number = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  ///< not after the next step's begin
  std::uint64_t items = 0;
  std::array<std::int64_t, kStepParts> part_ns{};  ///< kSkipped: 0
  std::int64_t other_ns = 0;
  std::int64_t device_busy_ns = kNotKnown;  ///< time in which any device of the process did anything
  std::int64_t peak_bytes = kNotKnown;      ///< most that an allocator held on one device at any time in the step
  bool warm_up = false;                     ///< see warm_up_steps
  bool skipped = false;                     ///< its work was thrown away; see StepPart::kSkipped

  std::int64_t step_ns() const noexcept { return end_ns - begin_ns; }
  std::int64_t part(StepPart which) const noexcept { return part_ns[static_cast<std::size_t>(which)]; }
  std::int64_t device_idle_ns() const noexcept {
    return device_busy_ns == kNotKnown ? kNotKnown : step_ns() - device_busy_ns;
  }
  /// Not waiting for data, not checkpointing, and not doing again what was done.
  std::int64_t working_ns() const noexcept {
    return step_ns() - part(StepPart::kData) - part(StepPart::kCheckpoint) - part(StepPart::kRecompute);
  }
};

/// Where all the time went: useful + all that was lost = wall. Wall is from the begin of the first recorded
/// step to the end of the last, without pauses of the schedule; of several processes, added up.
struct Goodput {
  std::int64_t wall_ns = 0;
  std::int64_t useful_ns = 0;
  std::int64_t data_ns = 0;
  std::int64_t checkpoint_ns = 0;
  std::int64_t recompute_ns = 0;
  std::int64_t skipped_ns = 0;  ///< what is left of steps whose work was thrown away
  std::int64_t warm_up_ns = 0;  ///< by how much warm-up steps took longer than the median of the others
  std::int64_t between_ns = 0;  ///< between one step and the next
};

/// By nearest rank.
struct Percentiles {
  std::int64_t p50 = 0;
  std::int64_t p95 = 0;
  std::int64_t p99 = 0;
};

struct StepAnalysis {
  std::vector<StepFigures> steps;  ///< by process, then time
  std::uint64_t warm_up = 0;       ///< of all processes
  std::uint64_t skipped = 0;
  Goodput goodput;
  /// Of steady steps that are not skipped.
  std::uint64_t useful_items = 0;
  std::int64_t useful_items_ns = 0;
};

/// What each step of a timeline did, and how much of the time was of use. A step that was not recorded to its end has
/// no row. Recomputed work is what the projection says to be Pass::kRecompute (kForward and device activity needed), as
/// time in which the device did it, and ranges that are named so.
///
/// O(n log n) in steps, ranges, activities and events of memory; memory proportional to steps, the ranges that stand
/// for a part, and the activities.
StepAnalysis analyse_steps(const Timeline& timeline, const Projection& projection, const StepRules& rules = {});

/// Of those values that are known; zeros where none is.
Percentiles percentiles_of(std::vector<std::int64_t> values);

/// Items a second, tenths; 0 where there are none.
std::int64_t items_per_second_tenths(std::uint64_t items, std::int64_t time_ns) noexcept;

}  // namespace rangefinder::analysis
