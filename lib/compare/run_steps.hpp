// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::compare {

/// A step of one process.
struct StepFrame {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t step;  ///< row of Run::steps
};

/// The steps of all processes, put together by their numbers, and where they are in time.
class RunSteps {
 public:
  /// Fills Run::steps, but for what happened in them, and Run::has_steps. `projection` of annotations.
  RunSteps(const Timeline& timeline, const Projection& projection, Run& run);

  /// Disjoint, in order of time.
  std::span<const StepFrame> of(ProcessIndex process) const noexcept {
    return process < frames_.size() ? std::span<const StepFrame>(frames_[process]) : std::span<const StepFrame>();
  }
  /// The thread whose time the steps are: that marks them, or else that has most ranges. kNone: there is none.
  ThreadIndex thread_of(ProcessIndex process) const noexcept {
    return process < threads_.size() ? threads_[process] : ThreadIndex(kNone);
  }

 private:
  void find_steps(const Timeline& timeline, const Projection& projection, Run& run);
  void take_all_as_one(const Timeline& timeline, Run& run);
  void find_threads(const Timeline& timeline);

  std::vector<std::vector<StepFrame>> frames_;  // by process
  std::vector<ThreadIndex> threads_;            // by process
};

/// Calls `use(frame, begin_ns, end_ns)` for what [begin_ns, end_ns) has in common with each frame, from `first` on;
/// moves `first` behind frames that are over. For intervals in order of begin.
template <typename Use>
void for_each_frame(std::span<const StepFrame> frames, std::size_t& first, std::int64_t begin_ns, std::int64_t end_ns,
                    Use use) {
  while (first < frames.size() && frames[first].end_ns <= begin_ns) ++first;
  for (std::size_t at = first; at < frames.size() && frames[at].begin_ns < end_ns; ++at) {
    const std::int64_t from = frames[at].begin_ns > begin_ns ? frames[at].begin_ns : begin_ns;
    const std::int64_t to = frames[at].end_ns < end_ns ? frames[at].end_ns : end_ns;
    if (from < to) use(at, from, to);
  }
}

/// The first frame that ends after that time; frames.size(): none.
std::size_t frame_from(std::span<const StepFrame> frames, std::int64_t time_ns) noexcept;

}  // namespace rangefinder::compare
