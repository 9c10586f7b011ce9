// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/graph.hpp"

#include <rangefinder/analysis/critical_path.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rangefinder::analysis::critical_path {

/// Orders nodes so that what a node begins after comes before it. Edges that would close a circle, which only damaged
/// input has, become kOrigin. O(nodes + edges), without recursion.
void find_order(Graph& graph);

/// When nodes begin and end: by node.
struct Times {
  std::span<const std::int64_t> begin_ns;
  std::span<const std::int64_t> end_ns;
};

/// The times as recorded, which are the graph's own, or if things take another time.
class Schedule : public Times {
 public:
  explicit Schedule(const Graph& graph) : Times{graph.begin_ns, graph.end_ns} {}
  Schedule(std::vector<std::int64_t> begins, std::vector<std::int64_t> ends)
      : begins_(std::move(begins)), ends_(std::move(ends)) {
    begin_ns = begins_;
    end_ns = ends_;
  }
  Schedule(Schedule&&) noexcept = default;  // a vector that is moved keeps its memory, and the spans are of that
  Schedule& operator=(Schedule&&) = delete;

 private:
  std::vector<std::int64_t> begins_;
  std::vector<std::int64_t> ends_;
};

/// `scale` empty: as recorded. O(nodes + edges).
Schedule schedule_of(const Graph& graph, const CriticalScale& scale);

/// When the edge lets the node begin, by a schedule in which what it comes from is known. `base_ns`: when the node
/// could begin if it did not wait for anything else.
std::int64_t time_by(const Graph& graph, const Times& times, NodeIndex to, const Edge& edge, std::int64_t base_ns,
                     const CriticalScale& scale);

/// A duration, scaled: to nearest, and never more than kFarthestNs.
std::int64_t scaled(std::int64_t length_ns, double by) noexcept;

}  // namespace rangefinder::analysis::critical_path
