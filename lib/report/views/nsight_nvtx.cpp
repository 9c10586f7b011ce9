// SPDX-License-Identifier: MIT
#include "analysis/nsight/ranges.hpp"
#include "report/view.hpp"
#include "report/views/nsight_columns.hpp"

namespace rangefinder::report {
namespace {

using namespace report::nsight;
using analysis::nsight::Labels;
using analysis::nsight::range_id;
using analysis::nsight::RangeChoice;

Result<Table> make_pushpop_trace(const Subject& subject, const ViewOptions&) {
  const Timeline& timeline = subject.timeline();
  constexpr std::size_t kName = 5;
  Table table({timestamp_column("Start"), timestamp_column("End"), time_column("Duration"), time_column("DurChild"),
               time_column("DurNonChild"), text_column("Name"), count_column("PID"), count_column("TID"),
               count_column("Lvl"), count_column("NumChild"), count_column("RangeId"), count_column("ParentId"),
               stack_column("RangeStack"), tree_column("NameTree")},
              kName);
  Labels labels(timeline);
  const std::vector<analysis::nsight::PushPopRow> rows = analysis::nsight::pushpop_trace(timeline);
  for (const analysis::nsight::PushPopRow& row : rows) {
    const base::Interval range = analysis::nsight::interval_of(timeline, row.range);
    const analysis::nsight::Label name = labels.range(row.range);
    // A row for each path, by the same number.
    const Paths::Node path = add_labelled_path(table, row.parent, range_id(timeline, row.range), labels, name);
    table.number(range.begin)
        .number(range.end)
        .number(range.end - range.begin)
        .number(row.child_ns)
        .number(analysis::saturating_add(range.end - range.begin, -row.child_ns));
    add_label(table, labels, name);
    add_thread(table, timeline, timeline.ranges.thread[row.range])
        .number(row.level)
        .number(row.children)
        .number(range_id(timeline, row.range))
        .optional(row.parent != kNone, row.parent != kNone ? range_id(timeline, rows[row.parent].range) : 0)
        .path(path)
        .path(path);
  }
  return table;
}

Table range_table(const Timeline& timeline, RangeChoice choice, bool with_style) {
  std::vector<Column> columns = time_sum_columns("Instances");
  if (with_style) columns.push_back(text_column("Style"));
  columns.push_back(text_column("Range"));
  const std::size_t name_column = columns.size() - 1;
  Table table(std::move(columns), name_column);
  Labels labels(timeline);
  const std::vector<analysis::nsight::RangeSumRow> rows = analysis::nsight::range_sum(timeline, choice, labels);
  __int128 total = 0;
  for (const analysis::nsight::RangeSumRow& row : rows) total += row.duration.total;
  for (const analysis::nsight::RangeSumRow& row : rows) {
    add_time_sum(table, row.duration, total);
    if (with_style) table.text(style_name(row.style));
    add_label(table, labels, row.name);
  }
  return table;
}

Result<Table> make_nvtx_sum(const Subject& subject, const ViewOptions&) {
  return range_table(subject.timeline(), RangeChoice::kAll, true);
}
Result<Table> make_pushpop_sum(const Subject& subject, const ViewOptions&) {
  return range_table(subject.timeline(), RangeChoice::kPushPop, false);
}
Result<Table> make_startend_sum(const Subject& subject, const ViewOptions&) {
  return range_table(subject.timeline(), RangeChoice::kStartEnd, false);
}

}  // namespace

namespace views_list {

extern const View nvtx_pushpop_trace, nvtx_sum, nvtx_pushpop_sum, nvtx_startend_sum;
const View nvtx_pushpop_trace{
    "nvtx_pushpop_trace", "every push/pop range on the host, with its children", kNeedsRanges, "", true,
    make_pushpop_trace};
const View nvtx_sum{"nvtx_sum", "host time of ranges by name", kNeedsRanges, "", true, make_nvtx_sum};
const View nvtx_pushpop_sum{"nvtx_pushpop_sum", "host time of push/pop ranges by name", kNeedsRanges, "", true,
                            make_pushpop_sum};
const View nvtx_startend_sum{"nvtx_startend_sum", "host time of start/end ranges by name", kNeedsRanges, "", true,
                             make_startend_sum};

}  // namespace views_list
}  // namespace rangefinder::report
