// SPDX-License-Identifier: MIT
#include "timeline/node_launches.hpp"

#include "timeline/graph_launch.hpp"

namespace rangefinder::timeline {

std::pair<std::uint32_t, bool> NodeLaunches::at(ThreadIndex thread, std::int64_t time_ns) {
  LaunchTable& launches = timeline_.launches;
  const auto [row, is_new] = rows_.try_emplace({thread, time_ns}, static_cast<std::uint32_t>(launches.size()));
  if (is_new) {
    launches.process.push_back(timeline_.threads[thread].process);
    launches.correlation.push_back(node_note_key(static_cast<std::uint32_t>(rows_.size())));
    launches.thread.push_back(thread);
    launches.time_ns.push_back(time_ns);
    launches.source.push_back(LaunchSource::kCallback);
    launches.range.push_back(kNone);
    launches.call.push_back(kNone);
  }
  return {row->second, is_new};
}

}  // namespace rangefinder::timeline
