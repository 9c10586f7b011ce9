// SPDX-License-Identifier: MIT
#pragma once

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

inline void check_allocator_events(const Timeline& timeline) {
  const AllocatorEventTable& memory = timeline.allocator_events;
  for (const ThreadIndex thread : memory.thread) HOLDS(thread < timeline.threads.size());
}

inline void check_graph_nodes(const Timeline& timeline) {
  const GraphNodeTable& nodes = timeline.graph_nodes;
  for (const ProcessIndex process : nodes.process) HOLDS(process < timeline.processes.size());
  for (ActivityIndex row{}; row < timeline.activities.size(); ++row) {
    const LaunchIndex captured = timeline.activities.captured[row];
    HOLDS(captured == kNone || captured < timeline.launches.size());
  }
}

inline void check_allocations(const Timeline& timeline) {
  const CudaAllocationTable& allocations = timeline.cuda_allocations;
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
