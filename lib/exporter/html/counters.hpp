// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/html/page_input.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::html {

/// A value over time.
struct CounterTrack {
  std::string group;
  std::string label;
  std::string unit;
  std::vector<std::pair<std::int64_t, double>> samples;  ///< time of the timeline, value; in order of time
};

/// What the program counted, the devices' sensors and hardware counters, within the timeline's time. Of more than
/// kMostSamples, the least and the greatest value of each stretch of time stay.
inline constexpr std::size_t kMostSamples = 20'000;
std::vector<CounterTrack> collect_counters(const PageInput& input, PageOutput& output);

}  // namespace rangefinder::html
