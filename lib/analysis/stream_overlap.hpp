// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// Of a device: from the first begin to the last end of its activities, without time that was not recorded.
struct DeviceConcurrency {
  DeviceIndex device = kNone;
  std::uint32_t streams = 0;              ///< that had any activity
  std::uint32_t most = 0;                 ///< busy at once
  std::array<std::int64_t, 4> busy_ns{};  ///< time in which 0, 1, 2, and 3 or more of them were busy
  bool pairs_known = true;                ///< see kMostStreamsWithPairs

  std::int64_t total_ns() const noexcept { return busy_ns[0] + busy_ns[1] + busy_ns[2] + busy_ns[3]; }
};

/// A stream is busy while any of its activities runs.
struct StreamConcurrency {
  StreamIndex stream = kNone;
  std::uint64_t ops = 0;
  std::int64_t busy_ns = 0;
  std::int64_t alone_ns = 0;  ///< of that, time in which no other stream of the device was busy
};

/// Two streams of a device that were busy at the same time.
struct StreamPair {
  StreamIndex first = kNone;
  StreamIndex second = kNone;
  std::int64_t overlap_ns = 0;
};

struct StreamOverlap {
  std::vector<DeviceConcurrency> devices;  ///< with activities, in order
  std::vector<StreamConcurrency> streams;  ///< with activities, by device, then stream
  std::vector<StreamPair> pairs;           ///< by device, the longest overlap first
};

/// Devices with more streams than that have no pairs: their number grows with the square.
inline constexpr std::size_t kMostStreamsWithPairs = 256;

/// How many streams of each device worked at the same time, and which ones.
///
/// Cost: O(n log n) in activities, and one step for each stream that is busy when another one falls idle (at most
/// kMostStreamsWithPairs).
StreamOverlap stream_overlap(const Timeline& timeline);

}  // namespace rangefinder::analysis
