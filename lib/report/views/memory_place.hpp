// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/memory.hpp"

#include <string>

namespace rangefinder::report {

/// What the views of memory call it: with its process where there are several.
inline std::string name_of_place(const Timeline& timeline, const analysis::MemoryPlace& place) {
  std::string name = place.device < 0 ? "host" : "cuda:" + std::to_string(place.device);
  if (timeline.processes.size() < 2) return name;
  return name + " of " + std::to_string(timeline.processes[place.process].pid);
}

}  // namespace rangefinder::report
