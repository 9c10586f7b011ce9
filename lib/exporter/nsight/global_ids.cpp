// SPDX-License-Identifier: MIT
#include "exporter/nsight/global_ids.hpp"

#include <map>
#include <set>
#include <string>

namespace rangefinder::nsight_export {
namespace {

constexpr std::int64_t kMost = 0xFFFFFF;
constexpr std::int64_t kMachines = 0x7FFF;  // the number stays positive

/// `wanted`, or the highest number that is free.
std::int64_t take(std::set<std::int64_t>& taken, std::int64_t wanted) {
  if (wanted < 0 || wanted > kMost || taken.count(wanted) != 0) {
    wanted = kMost;
    for (auto at = taken.rbegin(); at != taken.rend() && *at == wanted; ++at) --wanted;
  }
  taken.insert(wanted);
  return wanted;
}

bool has_room(std::int64_t id) noexcept { return id >= 0 && id <= kMost; }

}  // namespace

GlobalIds::GlobalIds(const Timeline& timeline)
    : processes_(timeline.processes.size()), threads_(timeline.threads.size()) {
  std::map<std::string, std::int64_t> machines;
  std::map<std::int64_t, std::set<std::int64_t>> pids;  // by machine
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const ProcessInfo& process = timeline.processes[i];
    const auto number = static_cast<std::int64_t>(machines.size());
    const std::int64_t machine = machines.try_emplace(process.host, number % kMachines + 1).first->second;
    processes_[i] = machine << 48 | take(pids[machine], process.pid) << 24;
  }
  std::vector<std::set<std::int64_t>> tids(timeline.processes.size());
  // Those that have room keep their numbers.
  for (const bool fits : {true, false}) {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const ThreadInfo& thread = timeline.threads[i];
      if (has_room(thread.tid) == fits)
        threads_[i] = processes_[thread.process] | take(tids[thread.process], thread.tid);
    }
  }
}

}  // namespace rangefinder::nsight_export
