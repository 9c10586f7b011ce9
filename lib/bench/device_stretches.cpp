// SPDX-License-Identifier: MIT
#include "bench/device_stretches.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

namespace rangefinder::bench {
namespace {

constexpr auto kBusyStates = static_cast<std::size_t>(DeviceState::kIdle);

bool has_ignoring_case(std::string_view text, std::string_view lower_word) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), lower_word.begin(), lower_word.end(), same) != text.end();
}

/// States of activities, by kind, name and direction.
class StateFinder {
 public:
  explicit StateFinder(const Timeline& timeline) : timeline_(timeline) {}

  DeviceState of(ActivityIndex activity) {
    const ActivityTable& activities = timeline_.activities;
    if (activities.kind[activity] == ActivityKind::kMemcpy) return of_copy(activities.detail[activity]);
    if (activities.kind[activity] != ActivityKind::kKernel) return DeviceState::kComputing;
    const auto [place, added] = names_.try_emplace(activities.name[activity], DeviceState::kComputing);
    if (added) {
      const std::string_view name = timeline_.text(activities.name[activity]);
      if (has_ignoring_case(name, "nccl") || has_ignoring_case(name, "rccl"))
        place->second = DeviceState::kCommunicating;
    }
    return place->second;
  }

 private:
  DeviceState of_copy(std::uint32_t detail) const {
    // CUpti_ActivityMemcpyKind
    switch (detail < timeline_.copy_details.size() ? timeline_.copy_details[detail].copy_kind : 0) {
      case 1:
      case 3:
        return DeviceState::kToDevice;
      case 2:
      case 4:
        return DeviceState::kToHost;
      case 10:
        return DeviceState::kCommunicating;
      default:
        return DeviceState::kComputing;
    }
  }

  const Timeline& timeline_;
  std::map<StringId, DeviceState> names_;
};

}  // namespace

std::vector<DeviceStretch> device_stretches(const Timeline& timeline) {
  struct Change {
    std::int64_t at_ns;
    ActivityIndex activity;
    DeviceState state;
    int by;
  };
  const ActivityTable& activities = timeline.activities;
  std::vector<Change> edges;
  edges.reserve(activities.size() * 2);
  StateFinder states(timeline);
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    if (activities.begin_ns[activity] >= activities.end_ns[activity]) continue;
    const DeviceState state = states.of(activity);
    edges.push_back({activities.begin_ns[activity], activity, state, 1});
    edges.push_back({activities.end_ns[activity], activity, state, -1});
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });
  std::vector<DeviceStretch> out(1);
  std::array<std::int64_t, kBusyStates> running{};
  for (std::size_t i = 0; i < edges.size();) {
    const std::int64_t at_ns = edges[i].at_ns;
    ActivityIndex begun = kNone, ended = kNone;
    for (; i < edges.size() && edges[i].at_ns == at_ns; ++i) {
      running[static_cast<std::size_t>(edges[i].state)] += edges[i].by;
      (edges[i].by > 0 ? begun : ended) = edges[i].activity;
    }
    std::size_t first = 0;
    while (first < kBusyStates && running[first] == 0) ++first;
    const auto state = static_cast<DeviceState>(first);
    if (out.back().state == state && state != DeviceState::kIdle) continue;
    out.back().end_ns = at_ns;
    if (out.back().state == DeviceState::kIdle) out.back().next = begun;
    out.push_back({.begin_ns = at_ns, .state = state, .before = ended});
  }
  return out;
}

}  // namespace rangefinder::bench
