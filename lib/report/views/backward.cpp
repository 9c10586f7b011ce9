// SPDX-License-Identifier: MIT
#include "analysis/backward_times.hpp"
#include "analysis/range_forest.hpp"
#include "base/text.hpp"
#include "report/units.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/path_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// `backward`: host time of the backward pass, on the ranges whose forward pass made its nodes.
namespace rangefinder::report {
namespace {

using analysis::BackwardTimes;

struct BackwardGroup {
  BackwardTimes::Own own;
  BackwardTimes::Own all;  ///< with the ranges inside
};

void add_to(BackwardTimes::Own& sum, const BackwardTimes::Own& part) noexcept {
  sum.ns = detail::plus(sum.ns, part.ns);
  sum.nodes += part.nodes;
}

/// Deeper ranges than the tree shows count for the one around them that it does.
std::vector<BackwardGroup> groups_of_backward(const analysis::PathTree& tree, const BackwardTimes& times) {
  std::vector<BackwardGroup> groups(tree.groups.size());
  for (RangeIndex range{0}; range < times.ranges.size(); ++range)
    if (tree.group_of[range] != kNone) add_to(groups[tree.group_of[range]].own, times.ranges[range]);
  for (std::uint32_t group = static_cast<std::uint32_t>(groups.size()); group-- > 0;) {  // parents before children
    add_to(groups[group].all, groups[group].own);
    if (tree.groups[group].parent != kNone) add_to(groups[tree.groups[group].parent].all, groups[group].all);
  }
  return groups;
}

void note_rest(Table& table, const BackwardTimes& times) {
  const auto tell = [&](const BackwardTimes::Own& part, const std::string& what) {
    if (part.nodes != 0)
      table.note("backward: " + readable_time(part.ns) + " of " + readable_time(times.total.ns) + " " + what + " (" +
                 base::with_thousands(part.nodes) + (part.nodes == 1 ? " node)" : " nodes)"));
  };
  tell(times.outside, "is of operators outside of any range");
  tell(times.accumulation, "adds up gradients and belongs to no range");
  tell(times.unmatched, "is of nodes whose forward operator is not in the data");
}

}  // namespace

Result<Table> make_backward(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  const analysis::PathTree tree = common::tree_of(projected, projected.projection(), options);
  const BackwardTimes times = analysis::backward_times(timeline, projected.projection_options());
  const std::vector<BackwardGroup> groups = groups_of_backward(tree, times);
  struct Row {
    std::uint32_t path;
    const analysis::RangeGroup& range;
    const BackwardGroup& backward;
  };
  const std::int64_t all_ns = times.total.ns;
  const auto by_forward = [](const Row& row) -> std::optional<std::int64_t> {
    if (row.range.host_ns <= 0 || row.backward.all.nodes == 0) return {};
    return common::rounded(static_cast<double>(row.backward.all.ns) / static_cast<double>(row.range.host_ns) * 100);
  };
  ColumnsOf<Row> columns;
  columns.path_name("Range", &Row::path);
  columns.count("Count", [](const Row& row) { return row.range.count; }).if_room(2);
  columns.time("Host", [](const Row& row) { return row.range.host_ns; });
  columns.time("Host self", [](const Row& row) { return row.range.host_self_ns; }).if_room(3);
  columns.time("Backward", [](const Row& row) { return row.backward.all.ns; });
  columns.time("Backward self", [](const Row& row) { return row.backward.own.ns; }).if_room(1);
  columns.percent("Backward share", [all_ns](const Row& row) { return common::share(row.backward.all.ns, all_ns); });
  columns.decimal("Backward by host", "", 2, by_forward).if_room(4);
  columns.count("Nodes", [](const Row& row) { return row.backward.all.nodes; }).if_room(5);
  common::add_path_columns(columns, &Row::path);
  Table table = columns.table();
  common::add_paths(table, timeline, tree);
  for (const std::uint32_t path : tree.order) columns.add_row(table, {path, tree.groups[path], groups[path]});
  note_rest(table, times);
  return table;
}

}  // namespace rangefinder::report
