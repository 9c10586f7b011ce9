// SPDX-License-Identifier: MIT
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/range_paths.hpp"

#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/analysis/hang.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// `hang`: which collective ranks wait in, who never came to it, and where that rank is. A row per rank and group.
namespace rangefinder::report {
namespace {

struct HangRow {
  const Hang& hang;
  const HangRank& rank;
  Paths::Node range;
};

std::string what(const Timeline& timeline, CollectiveKind kind, std::int64_t elements, StringId dtype) {
  std::string text = to_string(kind);
  if (elements >= 0) text += " of " + std::to_string(elements);
  if (elements >= 0 && dtype != StringId::kEmpty) text += " " + std::string(timeline.text(dtype));
  return text;
}

std::string last_called(const Timeline& timeline, CollectiveIndex row) {
  if (row == kNone) return "";
  const CollectiveTable& table = timeline.collectives;
  return what(timeline, table.kind[row], table.elements_in[row], table.dtype[row]);
}

/// When anything of the job was seen last.
std::int64_t last_seen_ns(const Timeline& timeline) {
  std::int64_t last = timeline.end_ns;
  for (const ProcessInfo& process : timeline.processes) last = std::max(last, process.seen_ns);
  return last;
}

/// "hang: group 0 (default_pg), all_reduce of 10 Float number 4: ranks 2, 5 never came"
std::string finding(const Timeline& timeline, const Hang& hang) {
  const ProcessGroupInfo& group = timeline.process_groups[hang.group];
  std::string text = "hang: group " + group.name + (group.description.empty() ? "" : " (" + group.description + ")") +
                     ", " + what(timeline, hang.kind, hang.elements_in, hang.dtype) + " number " +
                     std::to_string(hang.number) + ":";
  bool any = false;
  for (const HangState state : {HangState::kNeverCame, HangState::kDisagrees, HangState::kMissing}) {
    std::string ranks;
    std::size_t count = 0;
    for (const HangRank& rank : hang.ranks) {
      if (rank.state != state) continue;
      ranks += (ranks.empty() ? " " : ", ") + std::to_string(rank.rank);
      ++count;
    }
    if (count == 0) continue;
    const bool missing = state == HangState::kMissing;
    text += (any ? ";" : "") + std::string(count == 1 ? " rank" : " ranks") + ranks + " " +
            (!missing     ? to_string(state)
             : count == 1 ? "has no recording"
                          : "have no recording");
    any = true;
  }
  return text + (any ? "" : " all ranks called it, and some have not left it");
}

/// Whether anything says when the work of a collective was over: its library, or a kernel.
bool tells_ends(const Timeline& timeline) {
  return timeline.collectives.empty() || !timeline.collectives.completed_ns.empty() ||
         !timeline.activities.collective.empty();
}

}  // namespace

Result<Table> make_hang(const ProjectedTimeline& projected, const ViewOptions&) {
  const Timeline& timeline = projected.timeline();
  const std::vector<Hang> hangs = find_hangs(timeline);
  const std::int64_t end_ns = last_seen_ns(timeline);
  const auto seen_ns = [&](const HangRow& row) {
    return row.rank.process != kNone ? timeline.processes[row.rank.process].seen_ns : kNoTime;
  };
  ColumnsOf<HangRow> columns(timeline);
  columns.text("Group", [&](const HangRow& row) { return timeline.process_groups[row.hang.group].name; });
  columns.count("Number", [](const HangRow& row) { return row.hang.number; });
  columns.text("Collective",
               [&](const HangRow& row) { return what(timeline, row.hang.kind, row.hang.elements_in, row.hang.dtype); });
  columns.count("Rank", [](const HangRow& row) { return if_that(row.rank.rank >= 0, row.rank.rank); });
  columns.text("State", [](const HangRow& row) { return to_string(row.rank.state); });
  columns.time("For", [&](const HangRow& row) { return common::length_between(row.rank.since_ns, end_ns); });
  columns.time("Not seen for", [&](const HangRow& row) { return common::length_between(seen_ns(row), end_ns); });
  columns.text("Called last", [&](const HangRow& row) { return last_called(timeline, row.rank.last_called); })
      .if_room(2);
  columns.path("Range", [](const HangRow& row) { return row.range; }).if_room(1);
  common::add_id_of(columns, "Range", [](const HangRow& row) { return row.range; });
  Table table = columns.table();
  RangePaths paths(table, projected);
  for (const Hang& hang : hangs)
    for (const HangRank& rank : hang.ranks)
      columns.add_row(table, {hang, rank, rank.range != kNone ? paths.of(rank.range) : Paths::kNothing});
  for (const Hang& hang : hangs) table.note(finding(timeline, hang));
  if (hangs.empty()) table.note("hang: no rank waits in a collective");
  if (!tells_ends(timeline))
    table.note(
        "hang: this input does not tell when collectives were done: a call that returned counts as left. NCCL's calls "
        "return at once: record with RANGEFINDER_NCCL_KERNELS=on, or record the devices");
  return table;
}

}  // namespace rangefinder::report
