// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/range_rollup.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

// Views with one row per path of ranges, drawn as a tree.
namespace rangefinder::report::common {

inline analysis::Folding folding_of(const ReportOptions& options) {
  analysis::Folding folding;
  folding.numbers = options.fold;
  if (options.depth != 0)
    folding.most_depth = static_cast<std::uint32_t>(std::min<std::size_t>(options.depth, kNone) - 1);
  return folding;
}

/// The tree that the view's options ask for.
inline analysis::PathTree tree_of(const ProjectedTimeline& projected, const Projection& projection,
                                  const ViewOptions& options,
                                  analysis::HostSpread spread = analysis::HostSpread::kNotWanted) {
  return analysis::range_tree(projected.timeline(), projection, projected.projection_options(), folding_of(options),
                              spread);
}

/// Before any row: groups become paths of the table, by the same numbers.
inline void add_paths(Table& table, const Timeline& timeline, const analysis::PathTree& tree) {
  static_assert(kNone == Paths::kNothing);
  for (std::uint32_t group = 0; group < tree.groups.size(); ++group) {
    const analysis::RangeGroup& row = tree.groups[group];
    if (tree.groups.is_folded(group))
      table.paths().add(row.parent, group + 1, tree.groups.name(timeline, group));
    else
      table.paths().add(row.parent, group + 1, timeline, row.name);
  }
}

/// The last columns of such a view, for programs.
template <typename Row, typename PathOf>
void add_path_columns(ColumnsOf<Row>& columns, PathOf path_of) {
  const auto depth = [path_of](const Row& row, const Paths& paths) { return paths.depth(std::invoke(path_of, row)); };
  columns.path("Path", path_of).for_programs();
  columns.count("Depth", depth).for_programs();
  add_ids(columns, path_of);
}

}  // namespace rangefinder::report::common
