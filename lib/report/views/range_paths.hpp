// SPDX-License-Identifier: MIT
#pragma once

#include "report/projected_timeline.hpp"
#include "report/table.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::report {

/// Words in the place of a path, "(outside any range)", each added once.
class PathWords {
 public:
  explicit PathWords(Table& table) : paths_(table.paths()) {}

  Paths::Node of(std::string_view text) {
    const auto [found, added] = nodes_.try_emplace(std::string(text), Paths::kNothing);
    if (added) found->second = paths_.add(Paths::kNothing, 0, text);
    return found->second;
  }

 private:
  Paths& paths_;
  std::map<std::string, Paths::Node> nodes_;
};

/// The paths of single ranges in a table, added when a row first needs them. The id of a range is one more than its row
/// in the timeline, or names it in all windows of a capture.
class RangePaths {
 public:
  RangePaths(Table& table, const ProjectedTimeline& projected)
      : paths_(table.paths()),
        words_(table),
        projected_(projected),
        timeline_(projected.timeline()),
        projection_(projected.projection()) {}

  Paths::Node of(RangeIndex range) {
    if (node_of_.empty()) node_of_.assign(timeline_.ranges.size(), Paths::kNothing);
    inside_.clear();
    for (; range != kNone && node_of_[range] == Paths::kNothing; range = projection_.parent[range])
      inside_.push_back(range);
    Paths::Node node = range == kNone ? Paths::kNothing : node_of_[range];
    for (; !inside_.empty(); inside_.pop_back()) {
      const RangeIndex next = inside_.back();
      node = node_of_[next] = paths_.add(node, projected_.id_of(next), timeline_, timeline_.ranges.name[next]);
    }
    return node;
  }

  Paths::Node words(std::string_view text) { return words_.of(text); }

 private:
  Paths& paths_;
  PathWords words_;
  const ProjectedTimeline& projected_;
  const Timeline& timeline_;
  const Projection& projection_;
  std::vector<Paths::Node> node_of_;  // by range
  std::vector<RangeIndex> inside_;    // not added yet, innermost first
};

}  // namespace rangefinder::report
