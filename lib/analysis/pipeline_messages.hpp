// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// A step of a process. Where the timeline has no steps, all that the process recorded, with the number 0.
struct PipelineWindow {
  std::int64_t number;
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

/// By process, in order of time, disjoint.
using PipelineWindows = std::vector<std::vector<PipelineWindow>>;
PipelineWindows pipeline_windows(const Timeline& timeline);

/// The one that holds the time; null: none does.
const PipelineWindow* window_at(const std::vector<PipelineWindow>& windows, std::int64_t time_ns) noexcept;

/// A send or a receive of a rank.
struct PipelineMessage {
  std::int64_t rank;  ///< of the job
  std::int64_t peer;  ///< likewise
  ProcessGroupIndex group;
  bool is_send;
  std::int64_t step;  ///< PipelineWindow::number
};

struct PipelineMessages {
  /// By process, in the order in which they left and arrived.
  std::vector<std::vector<PipelineMessage>> by_process;
  /// Sends and receives of which it is not known between which ranks they are.
  std::uint64_t unknown = 0;
};

PipelineMessages pipeline_messages(const Timeline& timeline, const PipelineWindows& windows);

}  // namespace rangefinder::analysis
