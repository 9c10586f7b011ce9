// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/autograd_threads.hpp"
#include "analysis/critical_path/graph.hpp"

#include <rangefinder/analysis/critical_path.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis::critical_path {

struct Built {
  Graph graph;
  std::vector<HandOver> hand_overs;
  /// Threads whose end counts for the end of all: those that launch, wait for devices or mark steps; where none does,
  /// all of them. In order.
  std::vector<ThreadIndex> driving;
  /// What each stream did last, and what ended last of all of it where that is something else.
  std::vector<ActivityIndex> last_work;
};

Built build(const Timeline& timeline, std::int64_t usual_gap_ns, std::vector<std::uint32_t> owner);

}  // namespace rangefinder::analysis::critical_path
