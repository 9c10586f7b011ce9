// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/spans.hpp"

#include <rangefinder/types.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis {

/// How much of a stretch of time lies in any of some spans.
class CoveredTime {
 public:
  CoveredTime() = default;
  /// In any order; they may overlap.
  explicit CoveredTime(std::vector<Span> spans);
  /// O(log spans). `begin_ns` is not after `end_ns`.
  std::int64_t between(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    return until(end_ns) - until(begin_ns);
  }

 private:
  std::int64_t until(std::int64_t time_ns) const noexcept;
  std::vector<Span> spans_;           // disjoint, in order
  std::vector<std::int64_t> before_;  // each span: the length of those before it
};

/// How long the queue of a stream was over time: what was launched and had not begun.
struct QueueLengths {
  std::int64_t total_ns = 0;  ///< from the first launch to the last end, as far as it was recorded
  std::int64_t empty_ns = 0;  ///< nothing waited
  /// Nothing waited and nothing ran. Of that, until a launch: the thread that made it did not stand still to wait for a
  /// device meanwhile.
  std::int64_t idle_ns = 0;
  std::int64_t starved_ns = 0;
  std::int64_t mean_hundredths = 0;
  std::uint64_t p50 = 0;  ///< for half of the time the queue was at most so long
  std::uint64_t p95 = 0;
  std::uint64_t max = 0;
};

/// What happens on a stream, or on all streams of a device. Each list in order; times are within kFarthestNs of 0.
struct QueueEvents {
  struct Launch {
    std::int64_t time_ns;
    ThreadIndex thread;
  };
  std::vector<Launch> launches;          ///< of what waits
  std::vector<std::int64_t> begins;      ///< of what waits, as many
  std::vector<std::int64_t> run_begins;  ///< of all work
  std::vector<std::int64_t> run_ends;    ///< as many
};

/// `host_waits` by thread, as far as they were recorded. O(n log n).
QueueLengths queue_lengths(const QueueEvents& events, const CoveredTime& recorded,
                           std::span<const CoveredTime> host_waits);

}  // namespace rangefinder::analysis
