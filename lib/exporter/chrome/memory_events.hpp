// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_writer.hpp"

#include <rangefinder/types.hpp>

#include <cstdint>
#include <string_view>

namespace rangefinder::chrome {

/// What an allocator did, with the totals that it led to (-1: not known).
struct MemoryPoint {
  MemoryAction action = MemoryAction::kAllocate;
  std::int32_t device = -1;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::int64_t allocated = -1;
  std::int64_t reserved = -1;
};

/// A call of CUDA's own that allocated or freed.
struct AllocationPoint {
  bool freed = false;
  std::uint32_t memory = 0;  ///< CUPTI's kind
  std::int64_t device = -1;  ///< -1: none
  std::int64_t stream = -1;  ///< -1: none
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pool = 0;
  std::uint64_t correlation = 0;
};

/// "Allocate (Device)": an instant of no other tool's. A category of its own keeps readers of `[memory]` from adding it
/// to what the framework allocates.
void write_allocation(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const AllocationPoint& point);

/// The instant of torch.profiler's profile_memory, from which TensorBoard's plugin makes its memory view; of segments
/// none, since they are no memory of the program's. With `counters` the totals as series of samples, too.
void write_memory(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const MemoryPoint& point,
                  bool counters);

}  // namespace rangefinder::chrome
