// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/memory.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <vector>

// What the caching allocators of devices told of themselves, as rangefinder::torch::count_device_memory wrote it:
// counters named `cuda:0 reserved bytes`.
namespace rangefinder::analysis {

/// One count of one device. Nothing where the input does not say, or what it says is no count.
struct AllocatorCount {
  std::int64_t time_ns = 0;          ///< of the first figure
  std::optional<std::int64_t> step;  ///< its number; nothing: outside of all
  std::optional<std::int64_t> allocated_bytes;
  std::optional<std::int64_t> reserved_bytes;
  std::optional<std::int64_t> requested_bytes;
  std::optional<std::int64_t> active_bytes;
  std::optional<std::int64_t> inactive_split_bytes;
  std::optional<std::int64_t> segments;
  std::optional<std::int64_t> retries;        ///< since the program began
  std::optional<std::int64_t> out_of_memory;  ///< likewise
};

struct CountedDevice {
  MemoryPlace place;
  std::vector<AllocatorCount> counts;  ///< in order of time; one at least

  /// The position of the count with the most bytes in inactive splits, the first of such: what a ratio would find is a
  /// program that has just begun. 0 where none tells of them.
  std::size_t most_split() const noexcept;
};

/// In order of process and device.
std::vector<CountedDevice> counted_devices(const Timeline& timeline);
bool has_allocator_counts(const Timeline& timeline);

}  // namespace rangefinder::analysis
