// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/range_rollup.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"

#include <algorithm>
#include <string>
#include <vector>

// Views with a row a path of ranges, drawn as a tree.
namespace rangefinder::report::own {

inline analysis::Folding folding_of(const ViewOptions& options) {
  analysis::Folding folding;
  folding.numbers = options.fold;
  if (options.depth != 0)
    folding.most_depth = static_cast<std::uint32_t>(std::min<std::size_t>(options.depth, kNone) - 1);
  return folding;
}

inline std::string tree_label(const Timeline& timeline, const analysis::RangeGroup& group) {
  return std::string(std::size_t{2} * group.depth, ' ') + std::string(analysis::group_name(timeline, group));
}

/// The last two columns of such a view, for programs.
inline void add_path_columns(std::vector<Column>& columns) {
  columns.push_back(for_programs(text("Path")));
  columns.push_back(for_programs(count("Depth")));
}
inline void add_path(Table& table, const Timeline& timeline, const analysis::PathTree& tree, std::uint32_t group) {
  table.text(analysis::group_path(timeline, tree.groups, group)).number(tree.groups[group].depth);
}

}  // namespace rangefinder::report::own
