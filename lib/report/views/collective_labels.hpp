// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <optional>
#include <string>

// Who takes part in a collective, in words.
namespace rangefinder::report {

/// "0 (default_pg)"; nothing where the input does not tell groups.
inline std::optional<std::string> group_label(const Timeline& timeline, ProcessGroupIndex group) {
  if (group == kNone) return std::nullopt;
  const ProcessGroupInfo& info = timeline.process_groups[group];
  return info.description.empty() ? info.name : info.name + " (" + info.description + ")";
}

/// The rank, or the process id where ranks are not known.
inline std::string rank_label(const Timeline& timeline, ProcessIndex process) {
  const ProcessInfo& info = timeline.processes[process];
  return info.rank >= 0 ? std::to_string(info.rank) : "pid " + std::to_string(info.pid);
}

}  // namespace rangefinder::report
