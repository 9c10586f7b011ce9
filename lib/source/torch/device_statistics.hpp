// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <cstdint>

namespace rangefinder::torch {

/// Of a whole that is nothing, nothing is a part.
inline double ratio(std::int64_t part, std::int64_t whole) noexcept {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// Calls `put(what, value)` for each figure of a device: bytes and counts as std::int64_t, ratios of 0 to 1 as double.
template <typename Put>
void for_each_statistic(const c10::CachingDeviceAllocator::DeviceStats& stats, Put put) {
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const std::int64_t allocated = stats.allocated_bytes[kAll].current;
  const std::int64_t reserved = stats.reserved_bytes[kAll].current;
  const std::int64_t requested = stats.requested_bytes[kAll].current;
  const std::int64_t inactive_split = stats.inactive_split_bytes[kAll].current;
  put("allocated bytes", allocated);
  put("reserved bytes", reserved);
  put("requested bytes", requested);
  put("active bytes", stats.active_bytes[kAll].current);
  put("inactive split bytes", inactive_split);
  put("segments", stats.segment[kAll].current);
  put("allocation retries", stats.num_alloc_retries);
  put("out of memory", stats.num_ooms);
  put("external fragmentation", ratio(inactive_split, reserved));
  put("internal fragmentation", allocated > 0 ? 1 - ratio(requested, allocated) : 0.0);
  put("efficiency", ratio(allocated, reserved));
}

}  // namespace rangefinder::torch
