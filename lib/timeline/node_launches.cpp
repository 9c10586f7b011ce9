// SPDX-License-Identifier: MIT
#include "timeline/node_launches.hpp"

#include "timeline/graph_launch.hpp"

namespace rangefinder::timeline {

std::pair<LaunchIndex, bool> NodeLaunches::at(ThreadIndex thread, std::int64_t time_ns) {
  LaunchTable& launches = timeline_.launches;
  const auto [row, is_new] = rows_.try_emplace({thread, time_ns}, LaunchIndex(launches.size()));
  if (is_new) {
    launches.append({.process = timeline_.threads[thread].process,
                     .correlation = node_note_key(static_cast<std::uint32_t>(rows_.size())),
                     .thread = thread,
                     .time_ns = time_ns,
                     .source = LaunchSource::kCallback});
  }
  return {row->second, is_new};
}

}  // namespace rangefinder::timeline
