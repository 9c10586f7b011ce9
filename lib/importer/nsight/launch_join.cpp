// SPDX-License-Identifier: MIT
#include "importer/nsight/launch_join.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace rangefinder::importer::nsight {
namespace {

struct Key {
  ProcessIndex process;
  CallIndex call;
  std::uint64_t correlation;
};

bool by_id(const Key& a, const Key& b) noexcept {
  return std::tie(a.process, a.correlation) < std::tie(b.process, b.correlation);
}

// One call for each process and correlation id.
std::vector<Key> outermost_calls(const Timeline& timeline) {
  const CallTable& calls = timeline.calls;
  std::vector<Key> keys;
  keys.reserve(calls.size());
  for (CallIndex call = 0; call < calls.size(); ++call)
    if (calls.correlation[call] != 0)
      keys.push_back({timeline.threads[calls.thread[call]].process, call, calls.correlation[call]});
  const auto outermost_first = [&](const Key& a, const Key& b) {
    if (by_id(a, b) || by_id(b, a)) return by_id(a, b);
    const auto rank = [&](CallIndex call) { return std::tuple(calls.begin_ns[call], -calls.end_ns[call], call); };
    return rank(a.call) < rank(b.call);
  };
  if (!std::is_sorted(keys.begin(), keys.end(), outermost_first)) std::sort(keys.begin(), keys.end(), outermost_first);
  keys.erase(std::unique(keys.begin(), keys.end(), [](const Key& a, const Key& b) { return !by_id(a, b); }), keys.end());
  return keys;
}

// The call of every activity, or kNone.
std::vector<CallIndex> call_of_activities(const Timeline& timeline, const std::vector<Key>& keys) {
  const ActivityTable& activities = timeline.activities;
  std::vector<CallIndex> out(activities.size(), kNone);
  std::size_t guess = 0;
  for (ActivityIndex i = 0; i < activities.size(); ++i) {
    if (activities.correlation[i] == 0) continue;
    const Key wanted{timeline.devices[timeline.streams[activities.stream[i]].device].process, 0, activities.correlation[i]};
    // Device rows come nearly in the order of their launches: look at the next one first.
    if (guess < keys.size() && !by_id(keys[guess], wanted) && !by_id(wanted, keys[guess])) {
      out[i] = keys[guess++].call;
      continue;
    }
    const auto found = std::lower_bound(keys.begin(), keys.end(), wanted, by_id);
    if (found == keys.end() || by_id(wanted, *found)) continue;
    out[i] = found->call;
    guess = static_cast<std::size_t>(found - keys.begin()) + 1;
  }
  return out;
}

}  // namespace

void join_launches(Timeline& timeline) {
  const CallTable& calls = timeline.calls;
  ActivityTable& activities = timeline.activities;
  const std::vector<CallIndex> call_of = call_of_activities(timeline, outermost_calls(timeline));

  std::vector<CallIndex> launching;
  std::vector<std::uint32_t> launch_of(calls.size(), kNone);
  for (const CallIndex call : call_of)
    if (call != kNone && launch_of[call] == kNone) {
      launch_of[call] = 0;
      launching.push_back(call);
    }
  std::sort(launching.begin(), launching.end(), [&](CallIndex a, CallIndex b) {
    return std::tuple(calls.thread[a], calls.begin_ns[a], a) < std::tuple(calls.thread[b], calls.begin_ns[b], b);
  });

  LaunchTable& launches = timeline.launches;
  for (const CallIndex call : launching) {
    launch_of[call] = static_cast<std::uint32_t>(launches.size());
    launches.process.push_back(timeline.threads[calls.thread[call]].process);
    launches.correlation.push_back(calls.correlation[call]);
    launches.thread.push_back(calls.thread[call]);
    launches.time_ns.push_back(calls.begin_ns[call]);
    launches.source.push_back(LaunchSource::kCall);
    launches.range.push_back(kNone);
    launches.call.push_back(call);
  }
  for (ActivityIndex i = 0; i < activities.size(); ++i) {
    if (call_of[i] == kNone) continue;
    activities.launch[i] = launch_of[call_of[i]];
    // Nsight keeps no flag for it; the call's name says it.
    const bool asynchronous = timeline.text(calls.name[call_of[i]]).find("Async") != std::string_view::npos;
    if (activities.kind[i] != ActivityKind::kKernel) timeline.copy_details[activities.detail[i]].asynchronous = asynchronous;
  }
}

}  // namespace rangefinder::importer::nsight
