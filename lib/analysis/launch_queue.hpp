// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/queue_lengths.hpp"
#include "analysis/steps.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder::analysis {

/// How launches of a stream, or of a range, met the device. A launch of a CUDA graph is one, and begins when the first
/// of its work on the stream does. Work whose launch is not in the data has no part in it.
struct LaunchWaits {
  std::uint64_t launches = 0;
  /// The stream had nothing to do when they were launched: the device waited for the host.
  std::uint64_t on_idle_stream = 0;
  std::int64_t queue_at_launch_hundredths = 0;  ///< launches that waited on the stream when one was made: the mean
  // Begin of the launching call to begin of the work; 0 where the clocks say that it began before.
  Percentiles latency_idle;    ///< of those on an idle stream: what a launch takes
  Percentiles latency_queued;  ///< of the others: also what was before them

  std::uint64_t kernels = 0;            ///< launched alone, by a call that was recorded
  std::uint64_t shorter_than_call = 0;  ///< of those, how many took less time than that call
  std::int64_t kernel_ns = 0;           ///< of `kernels`
  std::int64_t call_ns = 0;
};

/// A stream, or all streams of a device together, which are one queue then.
struct LaunchQueueRow {
  DeviceIndex device{0};
  StreamIndex stream = kNone;  ///< kNone: all of the device
  QueueLengths lengths;
  LaunchWaits waits;
};

/// A row for each stream with launches, in order; before those of a device with several a row of all of them.
///
/// Times of launches are the host's: figures that are shorter than Timeline::clock_error_ns mean little.
///
/// Cost: O(n log n) in activities and synchronisations; 60 bytes an activity of the device at hand.
std::vector<LaunchQueueRow> launch_queues(const Timeline& timeline);

/// The launches of ranges: of the range that owns the work, without ranges inside.
struct RangeLaunches {
  StringId range = StringId::kEmpty;
  std::optional<Unowned> unowned;
  LaunchWaits waits;
};

/// A row for each name of range that owns work, by number of launches.
///
/// Cost: as of launch_queues.
std::vector<RangeLaunches> launches_of_ranges(const Timeline& timeline, const Projection& projection);

}  // namespace rangefinder::analysis
