// SPDX-License-Identifier: MIT
#include "analysis/nsight/projection.hpp"

#include "report/nsight/columns.hpp"
#include "report/view.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace rangefinder::report::nsight {
namespace {

using analysis::nsight::ProjectedRow;
using analysis::nsight::range_id;

}  // namespace

Result<Table> make_nvtx_gpu_proj_trace(const ProjectedTimeline& projected, const ViewOptions&) {
  using Row = ProjectedRow;
  const Timeline& timeline = projected.timeline();
  Labels labels(timeline);
  const std::vector<Row> rows = analysis::nsight::gpu_projection(timeline);
  // The row of work outside ranges has no figures of a range.
  const auto of_range = [](auto get) {
    return [get](const Row& row) { return row.range != kNone ? std::optional(get(row.range)) : std::nullopt; };
  };
  const auto begin_ns = [&](RangeIndex range) { return analysis::nsight::interval_of(timeline, range).begin; };
  const auto duration = [&](RangeIndex range) {
    const base::Interval interval = analysis::nsight::interval_of(timeline, range);
    return interval.end - interval.begin;
  };
  const auto id = [&](RangeIndex range) { return range_id(timeline, range); };
  const auto parent_id = [&](const Row& row) -> std::optional<std::int64_t> {
    if (row.parent == kNone) return {};
    return id(rows[row.parent].range);
  };
  // A path for each row, by the same number.
  const auto path = [&](const Row& row) {
    return row.level != kNone ? static_cast<Paths::Node>(&row - rows.data()) : Paths::kNothing;
  };
  ColumnsOf<Row> columns(timeline);
  columns.text("Name", of_range([&](RangeIndex range) { return text_of(labels, labels.range(range)); }));
  columns.timestamp("Projected Start", &Row::first_ns);
  columns.time("Projected Duration", [](const Row& row) { return row.last_ns - row.first_ns; });
  columns.timestamp("Orig Start", of_range(begin_ns));
  columns.time("Orig Duration", of_range(duration));
  columns.text("Style", of_range([&](RangeIndex range) { return style_name(timeline.ranges.style[range]); }));
  add_thread(columns, timeline, &Row::thread);
  columns.count("NumGPUOps", &Row::launches);
  columns.count("Lvl", [](const Row& row) { return if_that(row.level != kNone, row.level); });
  columns.count("NumChild", &Row::children);
  columns.count("RangeId", of_range(id));
  columns.count("ParentId", parent_id);
  columns.path("RangeStack", path, ColumnType::kIdStack);
  Table table = columns.table();
  for (const Row& row : rows) {
    table.paths().add(row.parent, row.range != kNone ? id(row.range) : 0, {});
    columns.add_row(table, row);
  }
  return table;
}

}  // namespace rangefinder::report::nsight
