// SPDX-License-Identifier: MIT
#include "analysis/collective_work.hpp"
#include "analysis/range_at.hpp"
#include "report/view.hpp"
#include "report/views/collective_labels.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"
#include "report/views/range_paths.hpp"

#include <rangefinder/analysis/collectives.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// `collective_calls`: all that the input tells of each rank's part of each collective. Nothing is matched and nothing
// left out, so that programs have the data, and people see why `collectives` refused what it did.
namespace rangefinder::report {
namespace {

using analysis::CollectiveWork;

struct CallRow {
  CollectiveRow call;
  CollectiveWork work;
  const ProcessInfo& process;
  const ProcessGroupInfo* group;  ///< null: not told
  std::optional<std::uint64_t> bytes;
  Paths::Node range;
  Paths::Node wait_range;
};

using Columns = ColumnsOf<CallRow>;

std::optional<std::int64_t> if_told(std::int64_t number) { return if_that(number >= 0, number); }

std::string_view source_text(CollectiveSource source) {
  switch (source) {
    case CollectiveSource::kC10d:
      return "c10d";
    case CollectiveSource::kNccl:
      return "nccl";
  }
  return "";
}

std::int64_t size_of(const ProcessGroupInfo& group) {
  return std::max<std::int64_t>(group.size, static_cast<std::int64_t>(group.ranks.size()));
}

/// "[0, 2, 4]"; empty where they are not known.
std::string ranks_text(const ProcessGroupInfo& group) {
  std::string text;
  for (const std::int64_t rank : group.ranks) text += (text.empty() ? "[" : ", ") + std::to_string(rank);
  return text.empty() ? text : text + "]";
}

/// How many ranks take part; 0: not known.
std::int64_t ranks_of(const CallRow& row) {
  const std::int64_t of_group = row.group != nullptr ? size_of(*row.group) : 0;
  return of_group > 0 ? of_group : std::max<std::int64_t>(0, row.process.world_size);
}

void add_group_columns(Columns& columns, const Timeline& timeline) {
  const auto of_group = [](auto get) { return [get](const CallRow& row) { return figure_of(row.group, get); }; };
  columns.text("Group", [&](const CallRow& row) { return group_label(timeline, row.call.group); }).if_room(5).if_any();
  columns.text("Group name", of_group(&ProcessGroupInfo::name)).for_programs();
  columns.text("Group description", of_group(&ProcessGroupInfo::description)).for_programs();
  columns.text("Group ranks", of_group(ranks_text)).for_programs();
  columns.count("Ranks", [](const CallRow& row) { return if_that(ranks_of(row) > 0, ranks_of(row)); }).if_room(10);
  columns.count("Number", [](const CallRow& row) { return if_told(row.call.number); }).if_any();
}

void add_size_columns(Columns& columns) {
  columns.count("Elements in", [](const CallRow& row) { return if_told(row.call.elements_in); }).for_programs();
  columns.count("Elements out", [](const CallRow& row) { return if_told(row.call.elements_out); }).for_programs();
  columns.text("Type", [](const CallRow& row) { return row.call.dtype; }).if_room(7).if_any();
  columns.bytes("Bytes", &CallRow::bytes);
  columns.count("Peer", [](const CallRow& row) { return if_told(row.call.peer); }).if_room(8).if_any();
  columns.text("Parts in", [](const CallRow& row) { return row.call.in_splits; }).for_programs();
  columns.text("Parts out", [](const CallRow& row) { return row.call.out_splits; }).for_programs();
  columns.text("Algorithm", [](const CallRow& row) { return row.call.algorithm; }).if_room(9).if_any();
  columns.text("Protocol", [](const CallRow& row) { return row.call.protocol; }).if_room(9).if_any();
  columns.count("Channels", [](const CallRow& row) { return if_that(row.call.channels > 0, row.call.channels); })
      .if_room(9)
      .if_any();
}

void add_time_columns(Columns& columns) {
  const auto wait = [](const CallRow& row) {
    return common::length_between(row.call.wait_begin_ns, row.call.wait_end_ns);
  };
  columns.timestamp("Call begin", [](const CallRow& row) { return common::if_time(row.call.begin_ns); }).if_room(4);
  columns.time("Call", [](const CallRow& row) { return common::length_between(row.call.begin_ns, row.call.end_ns); })
      .if_room(6);
  columns.timestamp("Work begin", [](const CallRow& row) { return common::if_time(row.work.begin_ns); });
  columns.time("Work", [](const CallRow& row) { return common::length_between(row.work.begin_ns, row.work.end_ns); });
  columns.count("Kernels", [](const CallRow& row) { return row.work.kernels; }).for_programs();
  columns.time("GPU sum", [](const CallRow& row) { return if_that(row.work.kernels > 0, row.work.kernel_sum_ns); })
      .if_room(10)
      .if_any();
  columns.timestamp("Wait begin", [](const CallRow& row) { return common::if_time(row.call.wait_begin_ns); })
      .for_programs();
  columns.time("Wait", wait).if_room(3).if_any();
}

Columns call_columns(const Timeline& timeline) {
  const bool ranks_known = std::all_of(timeline.processes.begin(), timeline.processes.end(),
                                       [](const ProcessInfo& process) { return process.rank >= 0; });
  Columns columns(timeline);
  columns.text("Collective", [](const CallRow& row) { return to_string(row.call.kind); });
  columns.text("Name", [](const CallRow& row) { return row.call.name; }).for_programs();
  columns.text("Source", [](const CallRow& row) { return source_text(row.call.source); }).for_programs();
  columns.count("Rank", [](const CallRow& row) { return if_told(row.process.rank); });
  Column& process = columns.count("Process", [](const CallRow& row) { return row.process.pid; });
  if (ranks_known) process.for_programs();
  add_group_columns(columns, timeline);
  add_size_columns(columns);
  add_time_columns(columns);
  columns.text("Thread", [&](const CallRow& row) { return thread_label(timeline, row.call.thread); }).if_room(10);
  columns.path("Range", &CallRow::range).if_room(1);
  columns.path("Range of wait", &CallRow::wait_range).if_room(2).if_any();
  common::add_id_of(columns, "Range", &CallRow::range);
  common::add_id_of(columns, "Range of wait", &CallRow::wait_range);
  return columns;
}

}  // namespace

Result<Table> make_collective_calls(const ProjectedTimeline& projected, const ViewOptions&) {
  const Timeline& timeline = projected.timeline();
  const CollectiveTable& calls = timeline.collectives;
  const std::vector<CollectiveWork> works = analysis::collective_works(timeline);
  std::vector<analysis::HostMoment> moments;  // of the call and of the wait, in turns
  moments.reserve(2 * calls.size());
  for (CollectiveIndex call{0}; call < calls.size(); ++call) {
    moments.push_back({calls.thread[call], calls.begin_ns[call]});
    moments.push_back({calls.wait_thread[call], calls.wait_begin_ns[call]});
  }
  const std::vector<RangeIndex> ranges = analysis::ranges_at(timeline, projected.projection_options(), moments);
  const Columns columns = call_columns(timeline);
  Table table = columns.table();
  RangePaths paths(table, projected);
  const auto path_of = [&](RangeIndex range) { return range != kNone ? paths.of(range) : Paths::kNothing; };
  for (CollectiveIndex call{0}; call < calls.size(); ++call) {
    CallRow row{calls.row(call), works[call], timeline.processes[calls.process[call]], nullptr, {}, {}, {}};
    if (row.call.group != kNone) row.group = &timeline.process_groups[row.call.group];
    row.bytes = analysis::counted_bytes(timeline, call, ranks_of(row));
    row.range = path_of(ranges[2 * std::size_t{call}]);
    row.wait_range = path_of(ranges[2 * std::size_t{call} + 1]);
    columns.add_row(table, row);
  }
  return table;
}

}  // namespace rangefinder::report
