// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <map>
#include <utility>

namespace rangefinder::timeline {

/// Rows of LaunchTable for calls that made nodes of graphs, of inputs that say where and when that was and name no
/// correlation id.
class NodeLaunches {
 public:
  explicit NodeLaunches(Timeline& timeline) noexcept : timeline_(timeline) {}

  /// The row, and whether it is new.
  std::pair<LaunchIndex, bool> at(ThreadIndex thread, std::int64_t time_ns);

 private:
  Timeline& timeline_;
  std::map<std::pair<ThreadIndex, std::int64_t>, LaunchIndex> rows_;
};

}  // namespace rangefinder::timeline
