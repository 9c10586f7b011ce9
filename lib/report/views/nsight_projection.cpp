// SPDX-License-Identifier: MIT
#include "analysis/nsight/nvtx_kernels.hpp"
#include "analysis/nsight/projection.hpp"
#include "report/view.hpp"
#include "report/views/nsight_columns.hpp"

namespace rangefinder::report {
namespace {

using namespace report::nsight;
using analysis::nsight::Labels;
using analysis::nsight::range_id;

Result<Table> make_projection_trace(const Subject& subject, const ViewOptions&) {
  const Timeline& timeline = subject.timeline();
  Table table({text_column("Name"), timestamp_column("Projected Start"), time_column("Projected Duration"),
               timestamp_column("Orig Start"), time_column("Orig Duration"), text_column("Style"), count_column("PID"),
               count_column("TID"), count_column("NumGPUOps"), count_column("Lvl"), count_column("NumChild"),
               count_column("RangeId"), count_column("ParentId"), stack_column("RangeStack")});
  Labels labels(timeline);
  const std::vector<analysis::nsight::ProjectedRow> rows = analysis::nsight::gpu_projection(timeline);
  for (const analysis::nsight::ProjectedRow& row : rows) {
    const bool owned = row.range != kNone;
    // A path for each row, by the same number.
    const Paths::Node path = table.paths().add(row.parent, owned ? range_id(timeline, row.range) : 0, {});
    const base::Interval range = owned ? analysis::nsight::interval_of(timeline, row.range) : base::Interval{};
    if (owned)
      add_label(table, labels, labels.range(row.range));
    else
      table.null();
    table.number(row.first_ns)
        .number(row.last_ns - row.first_ns)
        .optional(owned, range.begin)
        .optional(owned, range.end - range.begin);
    if (owned)
      table.text(style_name(timeline.ranges.style[row.range]));
    else
      table.null();
    add_thread(table, timeline, row.thread)
        .number(static_cast<std::int64_t>(row.launches))
        .optional(row.level != kNone, row.level)
        .number(row.children)
        .optional(owned, owned ? range_id(timeline, row.range) : 0)
        .optional(row.parent != kNone, row.parent != kNone ? range_id(timeline, rows[row.parent].range) : 0);
    if (row.level != kNone)
      table.path(path);
    else
      table.null();
  }
  return table;
}

Result<Table> make_projection_sum(const Subject& subject, const ViewOptions&) {
  const Timeline& timeline = subject.timeline();
  Table table(joined(joined({text_column("Range"), text_column("Style"), time_column("Total Proj Time"),
                             time_column("Total Range Time"), count_column("Range Instances")},
                            spread_columns("Proj ")),
                     {count_column("Total GPU Ops"), decimal_column("Avg GPU Ops", "", 1),
                      decimal_column("Avg Range Lvl", "", 1), decimal_column("Avg Num Child", "", 1)}));
  Labels labels(timeline);
  const std::vector<analysis::nsight::ProjectedSumRow> rows = analysis::nsight::gpu_projection_sum(timeline, labels);
  for (const analysis::nsight::ProjectedSumRow& row : rows) {
    add_label(table, labels, row.name)
        .text(style_name(row.style))
        .number(row.projected.total_saturated())
        .number(row.range.total_saturated())
        .number(static_cast<std::int64_t>(row.projected.count));
    add_spread(table, row.projected);
    const bool levels = row.level.count != 0;
    table.number(row.launches.total_saturated())
        .number(row.launches.mean(1))
        .optional(levels, levels ? row.level.mean(1) : 0)
        .number(row.children.mean(1));
  }
  return table;
}

Result<Table> make_nvtx_kernels(const Subject& subject, const ViewOptions& options) {
  const Timeline& timeline = subject.timeline();
  Table table(joined(joined({text_column("NVTX Range"), text_column("Style"), count_column("PID"), count_column("TID"),
                             count_column("NVTX Inst"), count_column("Kern Inst"), time_column("Total Time")},
                            spread_columns("")),
                     {kernel_column("Kernel Name")}));
  Labels labels(timeline);
  const auto rows = analysis::nsight::kernels_in_ranges(timeline, options.kernel_naming.form, labels);
  if (!rows) return rows.error();
  for (const analysis::nsight::NvtxKernelRow& row : *rows) {
    if (row.in_range)
      add_label(table, labels, row.name).text(style_name(row.style));
    else
      table.null().null();
    add_thread(table, timeline, row.thread)
        .number(static_cast<std::int64_t>(row.instances))
        .number(static_cast<std::int64_t>(row.duration.count))
        .number(row.duration.total_saturated());
    add_spread(table, row.duration);
    add_label(table, labels, row.kernel);
  }
  return table;
}

}  // namespace

namespace views_list {

extern const View nvtx_gpu_proj_trace, nvtx_gpu_proj_sum, nvtx_kern_sum;
const View nvtx_gpu_proj_trace{
    "nvtx_gpu_proj_trace", "every range, with the span of its device work", kNeedsRanges | kNeedsActivities, "", true,
    make_projection_trace};
const View nvtx_gpu_proj_sum{"nvtx_gpu_proj_sum",
                             "ranges by name, with the span of their device work",
                             kNeedsRanges | kNeedsActivities,
                             "",
                             true,
                             make_projection_sum};
const View nvtx_kern_sum{
    "nvtx_kern_sum",  "kernels by the ranges that launched them", kNeedsRanges | kNeedsActivities, "base mangled", true,
    make_nvtx_kernels};

}  // namespace views_list
}  // namespace rangefinder::report
