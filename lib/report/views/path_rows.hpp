// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/range_rollup.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

// Views with one row per path of ranges, drawn as a tree.
namespace rangefinder::report::own {

inline analysis::Folding folding_of(const ViewOptions& options) {
  analysis::Folding folding;
  folding.numbers = options.fold;
  if (options.depth != 0)
    folding.most_depth = static_cast<std::uint32_t>(std::min<std::size_t>(options.depth, kNone) - 1);
  return folding;
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
inline void add_path_columns(std::vector<Column>& columns) {
  columns.push_back(for_programs(path("Path")));
  columns.push_back(for_programs(count("Depth")));
  add_id_columns(columns);
}
inline void add_path(Table& table, Paths::Node node) {
  table.path(node).number(table.paths().depth(node));
  add_ids(table, node);
}

}  // namespace rangefinder::report::own
