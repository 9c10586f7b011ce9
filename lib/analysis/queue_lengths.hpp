// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/spans.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis {

/// How long the queue of a stream was over time: what was launched and had not begun.
struct QueueLengths {
  std::int64_t total_ns = 0;  ///< from the first launch to the last end, as far as it was recorded
  std::int64_t empty_ns = 0;  ///< nothing waited
  /// Nothing waited and nothing ran. Of that: no thread that launches here stood still to wait for a device.
  std::int64_t idle_ns = 0;
  std::int64_t starved_ns = 0;
  std::int64_t mean_hundredths = 0;
  std::uint64_t p50 = 0;  ///< for half of the time the queue was at most so long
  std::uint64_t p95 = 0;
  std::uint64_t max = 0;
};

/// What happens on a stream, or on all streams of a device. Each list in order; times are within kFarthestNs of 0.
struct QueueEvents {
  std::vector<std::int64_t> launches;    ///< when what waits was launched
  std::vector<std::int64_t> begins;      ///< and when it began, as many
  std::vector<std::int64_t> run_begins;  ///< of all work
  std::vector<std::int64_t> run_ends;    ///< as many
  std::span<const Span> host_waits;      ///< disjoint
  std::span<const Span> recorded;        ///< disjoint
};

/// O(n).
QueueLengths queue_lengths(const QueueEvents& events);

}  // namespace rangefinder::analysis
