// SPDX-License-Identifier: MIT
#include "projection/captured.hpp"

namespace rangefinder::projection {

std::vector<LaunchIndex> places_of_captured(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  std::vector<LaunchIndex> place;
  if (activities.captured.empty()) return place;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (activities.captured[row] >= timeline.launches.size()) continue;
    if (place.empty()) place.assign(activities.launch.begin(), activities.launch.end());
    place[row] = activities.captured[row];
  }
  return place;
}

bool give_back_unowned(const Timeline& timeline, const std::vector<std::uint32_t>& owner,
                       std::vector<LaunchIndex>& place) {
  const auto& launch = timeline.activities.launch;
  bool any = false;
  bool left = false;
  for (ActivityIndex row{0}; row < place.size(); ++row) {
    if (place[row] == launch[row]) continue;
    if (owner[row] < timeline.ranges.size()) {
      left = true;
      continue;
    }
    place[row] = launch[row];
    any = true;
  }
  if (!left) place.clear();
  return any;
}

}  // namespace rangefinder::projection
