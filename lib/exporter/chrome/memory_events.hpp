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

/// The instant of torch.profiler's profile_memory, from which TensorBoard's plugin makes its memory view; of segments
/// none, since they are no memory of the program's. With `counters` the totals as series of samples, too.
void write_memory(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const MemoryPoint& point,
                  bool counters);

}  // namespace rangefinder::chrome
