// SPDX-License-Identifier: MIT
#pragma once

#include "timeline/collectives.hpp"

#include <rangefinder/timeline.hpp>

namespace rangefinder::testing {

/// So many processes of one thread each, which are ranks of one group.
inline ProcessGroupIndex add_ranks(Timeline& timeline, int ranks) {
  ProcessGroupInfo group;
  group.name = "0";
  group.description = "default_pg";
  group.size = ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    group.ranks.push_back(rank);
    ProcessInfo process;
    process.rank = rank;
    process.world_size = ranks;
    timeline.processes.push_back(process);
    ThreadInfo thread;
    thread.process = ProcessIndex(rank);
    timeline.threads.push_back(thread);
  }
  return timeline::add_process_group(timeline, group);
}

}  // namespace rangefinder::testing
