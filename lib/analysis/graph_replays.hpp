// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/range_rollup.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

// Work of CUDA graphs has two parents: the range that captured it, and the one that replays it.
namespace rangefinder::analysis {

/// Traces of torch.profiler may not number graphs and nodes; the name of the launching call tells then.
bool is_graph_work(const Timeline& timeline, ActivityIndex activity);
bool has_graph_work(const Timeline& timeline);

/// What an operation's place of capture is where it is no range.
enum class NotCaptured : std::uint32_t {
  kWhole = 0xFFFFFFFDu,    ///< its launch was recorded as a whole, and not divided
  kOutside = 0xFFFFFFFEu,  ///< its node was made outside of any range
  kUnknown = 0xFFFFFFFFu,  ///< where is not in the data
};

/// Work that was captured in one path of ranges and is replayed by another.
struct GraphReplays {
  std::uint32_t replayed_by = 0;  ///< group of the tree, or a value of Unowned
  std::uint32_t captured_in = 0;  ///< group of the tree, or a value of NotCaptured
  std::uint64_t replays = 0;      ///< launches of graphs that had any
  std::uint64_t gpu_ops = 0;
  std::int64_t gpu_sum_ns = 0;
  std::int64_t estimated_ns = 0;     ///< of gpu_sum_ns
  std::int64_t conditional_ops = 0;  ///< of gpu_ops, those of graphs with conditional nodes
  PassTimes pass_ns{};               ///< zero unless `by_capture` is by Attribution::kForward
};

/// Rows with most time first, those of one replaying path together. `launchers` are the owners of activities by launch,
/// `by_capture` is the projection by that attribution, `tree` the paths of ranges.
std::vector<GraphReplays> graph_replays(const Timeline& timeline, const PathTree& tree,
                                        const std::vector<std::uint32_t>& launchers, const Projection& by_capture);

}  // namespace rangefinder::analysis
