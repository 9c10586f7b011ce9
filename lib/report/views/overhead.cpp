// SPDX-License-Identifier: MIT
#include "analysis/profiling_cost.hpp"
#include "analysis/range_at.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

// `overhead`: what profiling costs the program, and what CUDA does once: by kind, thread and range.
namespace rangefinder::report {
namespace {

std::int64_t length_of(const OverheadTable& overheads, std::size_t row) {
  return std::max<std::int64_t>(overheads.end_ns[row] - overheads.begin_ns[row], 0);
}

std::string_view cause_of(std::string_view kind) { return analysis::is_of_profiler(kind) ? "profiler" : "CUDA"; }

std::vector<RangeIndex> ranges_of(const ProjectedTimeline& projected) {
  const OverheadTable& overheads = projected.timeline().overheads;
  std::vector<analysis::HostMoment> moments;
  moments.reserve(overheads.size());
  for (std::size_t row = 0; row < overheads.size(); ++row)
    moments.push_back({overheads.thread[row], overheads.begin_ns[row]});
  return analysis::ranges_at(projected.timeline(), projected.projection_options(), moments);
}

Table instances_of(const ProjectedTimeline& projected) {
  const Timeline& timeline = projected.timeline();
  const OverheadTable& overheads = timeline.overheads;
  const std::vector<RangeIndex> ranges = ranges_of(projected);
  ColumnsOf<std::size_t> columns(timeline);
  columns.text("Kind", [&](std::size_t row) { return overheads.name[row]; });
  columns.text("Cause", [&](std::size_t row) { return cause_of(timeline.text(overheads.name[row])); });
  columns.timestamp("Begin", [&](std::size_t row) { return overheads.begin_ns[row]; });
  columns.time("Duration", [&](std::size_t row) { return length_of(overheads, row); });
  columns.text("Thread", [&](std::size_t row) { return thread_label(timeline, overheads.thread[row]); });
  columns.text("Range", [&](std::size_t row) { return range_label(timeline, ranges[row], overheads.thread[row]); });
  Table table = columns.table();
  for (std::size_t row = 0; row < overheads.size(); ++row) columns.add_row(table, row);
  return table;
}

struct OverheadGroup {
  StringId name = StringId::kEmpty;
  ThreadIndex thread = kNone;
  std::string range;
  std::uint64_t count = 0;
  std::int64_t total = 0, longest = 0;
};

std::vector<OverheadGroup> groups_of(const ProjectedTimeline& projected) {
  const Timeline& timeline = projected.timeline();
  const OverheadTable& overheads = timeline.overheads;
  const std::vector<RangeIndex> ranges = ranges_of(projected);
  std::map<std::tuple<StringId, ThreadIndex, std::string>, OverheadGroup> found;
  for (std::size_t row = 0; row < overheads.size(); ++row) {
    const ThreadIndex thread = overheads.thread[row];
    const std::tuple key{overheads.name[row], thread, range_label(timeline, ranges[row], thread)};
    OverheadGroup& group = found[key];
    std::tie(group.name, group.thread, group.range) = key;
    const std::int64_t length = length_of(overheads, row);
    ++group.count;
    group.total += length;
    group.longest = std::max(group.longest, length);
  }
  std::vector<OverheadGroup> groups;
  for (auto& [key, group] : found) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const OverheadGroup& a, const OverheadGroup& b) { return a.total > b.total; });
  return groups;
}

}  // namespace

Result<Table> make_overhead(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = OverheadGroup;
  if (options.instances) return instances_of(projected);
  const Timeline& timeline = projected.timeline();
  const std::int64_t recorded = analysis::recorded_ns(timeline);
  ColumnsOf<Row> columns(timeline);
  columns.text("Kind", &Row::name);
  columns.text("Cause", [&](const Row& row) { return cause_of(timeline.text(row.name)); });
  columns.text("Thread", [&](const Row& row) { return thread_label(timeline, row.thread); }).if_room(1);
  columns.text("Range", &Row::range);
  columns.count("Count", &Row::count);
  columns.time("Total", &Row::total);
  columns.percent("Share of recording", [recorded](const Row& row) { return common::share(row.total, recorded); });
  columns.time("Avg", [](const Row& row) { return common::mean(row.total, row.count); }).if_room(3);
  columns.time("Max", &Row::longest).if_room(2);
  return columns.table_of(groups_of(projected));
}

}  // namespace rangefinder::report
