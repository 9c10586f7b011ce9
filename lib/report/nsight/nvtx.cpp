// SPDX-License-Identifier: MIT
#include "analysis/nsight/ranges.hpp"
#include "report/nsight/columns.hpp"
#include "report/view.hpp"

#include <optional>
#include <vector>

namespace rangefinder::report::nsight {
namespace {

using analysis::nsight::range_id;

}  // namespace

Result<Table> make_nvtx_pushpop_trace(const ProjectedTimeline& projected, const ViewOptions&) {
  using analysis::nsight::PushPopRow;
  struct Row {
    const PushPopRow& entry;
    base::Interval range;
    Label name;
    Paths::Node path;

    std::int64_t duration() const noexcept { return range.end - range.begin; }
  };
  const Timeline& timeline = projected.timeline();
  Labels labels(timeline);
  const std::vector<PushPopRow> rows = analysis::nsight::pushpop_trace(timeline);
  const auto own_ns = [](const Row& row) { return analysis::saturating_add(row.duration(), -row.entry.child_ns); };
  const auto parent_id = [&](const Row& row) -> std::optional<std::int64_t> {
    if (row.entry.parent == kNone) return {};
    return range_id(timeline, rows[row.entry.parent].range);
  };
  ColumnsOf<Row> columns(timeline);
  columns.timestamp("Start", [](const Row& row) { return row.range.begin; });
  columns.timestamp("End", [](const Row& row) { return row.range.end; });
  columns.time("Duration", &Row::duration);
  columns.time("DurChild", [](const Row& row) { return row.entry.child_ns; });
  columns.time("DurNonChild", own_ns);
  columns.text("Name", [&](const Row& row) { return text_of(labels, row.name); }).naming_rows();
  add_thread(columns, timeline, [&](const Row& row) { return timeline.ranges.thread[row.entry.range]; });
  columns.count("Lvl", [](const Row& row) { return row.entry.level; });
  columns.count("NumChild", [](const Row& row) { return row.entry.children; });
  columns.count("RangeId", [&](const Row& row) { return range_id(timeline, row.entry.range); });
  columns.count("ParentId", parent_id);
  columns.path("RangeStack", &Row::path, ColumnType::kIdStack);
  columns.path("NameTree", &Row::path, ColumnType::kNameTree);
  Table table = columns.table();
  for (const PushPopRow& row : rows) {
    const Label name = labels.range(row.range);
    // A row for each path, by the same number.
    const Paths::Node path = add_labelled_path(table, row.parent, range_id(timeline, row.range), labels, name);
    columns.add_row(table, {row, analysis::nsight::interval_of(timeline, row.range), name, path});
  }
  return table;
}

}  // namespace rangefinder::report::nsight
