// SPDX-License-Identifier: MIT
#pragma once

#include "importer/capture/host_shift.hpp"
#include "projection/range_instances.hpp"
#include "session/chunk_output.hpp"
#include "summary/arrivals.hpp"
#include "summary/live_facts.hpp"
#include "summary/live_loader.hpp"
#include "summary/path_totals.hpp"
#include "summary/step_times.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::session {
class SessionCore;
}

namespace rangefinder::summary {

/// Follows one session's output: what has come since the last call is a window of time (or several), which the loader
/// of captures and project() take as they take windows of a file. Memory: that of such windows, and a row per path.
class LiveSummary final {
 public:
  /// What a session has written before it is asked for the first time comes in windows of about so many rows.
  static constexpr std::size_t kWindowRows = std::size_t{1} << 15;

  explicit LiveSummary(session::SessionCore& core, std::size_t window_rows = kWindowRows);

  /// Flushes the session, takes in what came since the last call, and gives the totals.
  Summary update();

 private:
  /// What stands there and happened until `ticks`.
  void read(const session::ChunkOutput& output, std::uint64_t ticks);
  /// `device_ns`: as CaptureLoader::next_window has it.
  void take_window(std::int64_t device_ns);
  void add_figures(const Projection& projection);
  void add_host_figures(RangeIndex row, std::uint32_t path);
  std::uint32_t path_of(RangeIndex row, const Projection& projection);

  session::SessionCore& core_;
  std::size_t window_rows_;
  session::OutputCursor host_cursor_, device_cursor_;
  std::uint64_t unread_ = 0;  // chunks that could not be unpacked
  LiveFacts facts_;
  Arrivals arrivals_{facts_};
  importer::HostShift no_shift_;
  LoadOptions load_options_;
  Timeline timeline_;  // the window at hand
  StepTimes steps_;
  LiveLoader loader_;
  std::vector<std::uint32_t> paths_;  // by row of the window's ranges; 0: not looked up
  PathTotals totals_;
  projection::RangeInstances instances_;
  std::int64_t gpu_total_ns_ = 0;
  std::int64_t gpu_owned_ns_ = 0;
};

}  // namespace rangefinder::summary
