// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/steps.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::advice {

/// A stretch of a process' time that is judged.
struct Frame {
  ProcessIndex process{0};
  std::int64_t number = 0;  ///< of the step
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool is_early = false;  ///< one of the first of its process, in which a program may still set itself up
  /// In the first quarter, in which the host fills the queue: the device waits for it then, and never again.
  bool is_first_quarter = false;
};

/// The steps that are judged: those after the warm-up. Where there are none, all of the recording from the first launch
/// on, a frame for each process.
class Frames {
 public:
  static constexpr std::size_t kNoFrame = static_cast<std::size_t>(-1);
  Frames(const Timeline& timeline, const analysis::StepAnalysis& steps);

  /// By process, then time; disjoint within a process.
  std::span<const Frame> all() const noexcept { return frames_; }
  bool are_steps() const noexcept { return are_steps_; }
  /// Whether there are enough steps to tell which of them are warm-up.
  bool know_warm_up() const noexcept { return knows_warm_up_; }
  /// Of all processes; at least 1.
  std::size_t count() const noexcept { return frames_.empty() ? 1 : frames_.size(); }
  /// Which one holds a moment of a process; kNoFrame.
  std::size_t at(ProcessIndex process, std::int64_t time_ns) const noexcept;
  bool holds(const Timeline& timeline, ThreadIndex thread, std::int64_t time_ns) const noexcept {
    return thread < timeline.threads.size() && at(timeline.threads[thread].process, time_ns) != kNoFrame;
  }
  /// Whether an activity was launched in one; where the launch is not known, whether it began in one.
  bool holds(const Timeline& timeline, ActivityIndex activity) const noexcept;
  std::int64_t total_ns() const noexcept;

 private:
  std::vector<Frame> frames_;
  std::vector<std::size_t> first_;  // of each process, and the end
  bool are_steps_ = false;
  bool knows_warm_up_ = false;
};

}  // namespace rangefinder::advice
