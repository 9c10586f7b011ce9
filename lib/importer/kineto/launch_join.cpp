// SPDX-License-Identifier: MIT
#include "importer/kineto/launch_join.hpp"

#include "importer/kineto/hashing.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <vector>

namespace rangefinder::importer::kineto {
namespace {

/// Correlation ids to calls: open addressing, since there is one look-up for each call and two for each activity.
class CorrelationMap {
 public:
  struct Slot {
    std::uint64_t correlation = 0;  ///< 0: free; no activity has it
    CallIndex call = kNone;
    std::uint32_t launch = kNone;
  };

  explicit CorrelationMap(std::size_t count) : slots_(std::bit_ceil(2 * count + 2)) {}

  Slot& at(std::uint64_t correlation) noexcept {
    std::size_t at = IdHash::mix(correlation) & (slots_.size() - 1);
    while (slots_[at].correlation != correlation && slots_[at].correlation != 0) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  std::vector<Slot>& slots() noexcept { return slots_; }

 private:
  std::vector<Slot> slots_;
};

void find_calls(const CallTable& calls, CorrelationMap& map) {
  for (CallIndex call = 0; call < calls.size(); ++call) {
    if (calls.correlation[call] == 0) continue;
    CorrelationMap::Slot& slot = map.at(calls.correlation[call]);
    if (slot.correlation == 0) continue;  // launched nothing
    if (slot.call == kNone || calls.begin_ns[call] < calls.begin_ns[slot.call]) slot.call = call;
  }
}

void write_launches(Timeline& timeline, CorrelationMap& map) {
  std::vector<CorrelationMap::Slot*> found;
  for (CorrelationMap::Slot& slot : map.slots()) {
    if (slot.call != kNone) found.push_back(&slot);
  }
  const CallTable& calls = timeline.calls;
  std::sort(found.begin(), found.end(), [&](const auto* a, const auto* b) {
    return std::tie(calls.begin_ns[a->call], a->call) < std::tie(calls.begin_ns[b->call], b->call);
  });
  LaunchTable& launches = timeline.launches;
  for (CorrelationMap::Slot* slot : found) {
    slot->launch = static_cast<std::uint32_t>(launches.size());
    const ThreadIndex thread = calls.thread[slot->call];
    launches.process.push_back(timeline.threads[thread].process);
    launches.correlation.push_back(slot->correlation);
    launches.thread.push_back(thread);
    launches.time_ns.push_back(calls.begin_ns[slot->call]);
    launches.source.push_back(LaunchSource::kCall);
    launches.range.push_back(kNone);
    launches.call.push_back(slot->call);
  }
}

}  // namespace

void join_launches(Timeline& timeline) {
  ActivityTable& activities = timeline.activities;
  CorrelationMap map(activities.size());
  for (const std::uint64_t correlation : activities.correlation) {
    if (correlation != 0) map.at(correlation).correlation = correlation;
  }
  find_calls(timeline.calls, map);
  write_launches(timeline, map);
  for (std::size_t i = 0; i < activities.size(); ++i) {
    if (activities.correlation[i] != 0) activities.launch[i] = map.at(activities.correlation[i]).launch;
  }
}

}  // namespace rangefinder::importer::kineto
