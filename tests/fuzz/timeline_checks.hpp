// SPDX-License-Identifier: MIT
#pragma once

#include "support/timeline_columns.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

// What the targets ask of every timeline that a reader gives.

// Prints the condition, so that a finding can be read without a debugger.
#define HOLDS(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (false)

namespace rangefinder::fuzz {

inline void check_memory_columns(const Timeline& timeline) {
  const MemoryTable& memory = timeline.memory;
  for (const std::size_t size :
       {memory.thread.size(), memory.time_ns.size(), memory.device.size(), memory.address.size(), memory.bytes.size(),
        memory.allocated.size(), memory.reserved.size(), memory.stream.size(), memory.pool.size(),
        memory.source_row.size()})
    HOLDS(size == memory.size());
  for (const ThreadIndex thread : memory.thread) HOLDS(thread < timeline.threads.size());
}

inline void check_graph_nodes(const Timeline& timeline) {
  const GraphNodeTable& nodes = timeline.graph_nodes;
  for (const std::size_t size : {nodes.process.size(), nodes.time_ns.size(), nodes.correlation.size()})
    HOLDS(size == nodes.size());
  for (const ProcessIndex process : nodes.process) HOLDS(process < timeline.processes.size());
  for (const std::uint32_t launch : timeline.activities.captured)
    HOLDS(launch == kNone || launch < timeline.launches.size());
}

inline void check_allocations(const Timeline& timeline) {
  const AllocationTable& allocations = timeline.allocations;
  for (const std::size_t size :
       {allocations.process.size(), allocations.freed.size(), allocations.memory.size(), allocations.device.size(),
        allocations.stream.size(), allocations.address.size(), allocations.bytes.size(), allocations.pool.size(),
        allocations.correlation.size(), allocations.source_row.size()})
    HOLDS(size == allocations.size());
  for (const ProcessIndex process : allocations.process) HOLDS(process < timeline.processes.size());
  for (const DeviceIndex device : allocations.device) HOLDS(device == kNone || device < timeline.devices.size());
  for (const StreamIndex stream : allocations.stream) HOLDS(stream == kNone || stream < timeline.streams.size());
}

inline void check_places(const Timeline& timeline) {
  for (const ThreadInfo& thread : timeline.threads) HOLDS(thread.process < timeline.processes.size());
  for (const DeviceInfo& device : timeline.devices) HOLDS(device.process < timeline.processes.size());
  for (const StreamInfo& stream : timeline.streams) HOLDS(stream.device < timeline.devices.size());
}

}  // namespace rangefinder::fuzz
