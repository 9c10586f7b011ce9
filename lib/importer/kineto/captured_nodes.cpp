// SPDX-License-Identifier: MIT
#include "importer/kineto/captured_nodes.hpp"

#include "timeline/graph_launch.hpp"

#include <map>
#include <unordered_map>
#include <utility>

namespace rangefinder::importer::kineto {

void CapturedNodes::add(const EventArguments& arguments) {
  using F = EventArguments;
  if (!arguments.has(F::kCapturedThread) || !arguments.has(F::kCapturedTime) || !arguments.captured_time.usable())
    return;
  made_.push_back({static_cast<ActivityIndex>(timeline_.activities.size() - 1), arguments.captured_thread,
                   arguments.captured_time.ns});
}

void CapturedNodes::finish() {
  if (made_.empty()) return;
  // Threads of several processes may have one number; which of them it was is not said then.
  std::unordered_map<std::int64_t, ThreadIndex> threads;
  for (ThreadIndex thread = 0; thread < timeline_.threads.size(); ++thread) {
    const auto [known, is_new] = threads.try_emplace(timeline_.threads[thread].tid, thread);
    if (!is_new) known->second = kNone;
  }
  ActivityTable& activities = timeline_.activities;
  LaunchTable& launches = timeline_.launches;
  activities.captured.assign(activities.size(), kNone);
  std::map<std::pair<ThreadIndex, std::int64_t>, std::uint32_t> launch_of;
  for (const Made& made : made_) {
    const auto thread = threads.find(made.tid);
    if (thread == threads.end() || thread->second == kNone) continue;
    const auto [launch, is_new] =
        launch_of.try_emplace({thread->second, made.time_ns}, static_cast<std::uint32_t>(launches.size()));
    if (is_new) {
      launches.process.push_back(timeline_.threads[thread->second].process);
      launches.correlation.push_back(timeline::node_note_key(static_cast<std::uint32_t>(launch_of.size())));
      launches.thread.push_back(thread->second);
      launches.time_ns.push_back(made.time_ns);
      launches.source.push_back(LaunchSource::kCallback);
      launches.range.push_back(kNone);
      launches.call.push_back(kNone);
    }
    activities.captured[made.activity] = launch->second;
  }
}

}  // namespace rangefinder::importer::kineto
