// SPDX-License-Identifier: MIT
#include "analysis/breakdown.hpp"

#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"

#include <rangefinder/analysis/breakdown.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// `breakdown`: what each device computed, communicated and copied, and why it did nothing; of a process without work on
// a device, what its host did.
namespace rangefinder::report {
namespace {

BreakdownBy by_of(const ViewOptions& options) {
  if (options.by == "step") return BreakdownBy::kStep;
  return options.by == "range" ? BreakdownBy::kRange : BreakdownBy::kDevice;
}

bool of_several_processes(const std::vector<BreakdownRow>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const BreakdownRow& row) { return row.process != rows.front().process; });
}

void add_notes(const std::vector<BreakdownRow>& rows, BreakdownBy by, const Timeline& timeline, Table& table) {
  std::uint64_t orphans = 0, graphs = 0;
  for (const BreakdownRow& row : rows) {
    // Of ranges, one inside another counts its work twice; orphans have no range but by the place of their capture.
    orphans += by != BreakdownBy::kRange || row.unowned ? row.orphan_ops : 0;
    graphs += row.graph_ops;
  }
  if (rows.empty())
    table.note(by == BreakdownBy::kRange ? "breakdown by range: this input has no device activity"
                                         : "breakdown: this input has neither device activity nor ranges");
  if (by == BreakdownBy::kStep && timeline.steps.empty())
    table.note("breakdown: this input has no steps (call session.step())");
  if (orphans != 0)
    table.note("breakdown: the launch of " + base::with_thousands(orphans) +
               " operations is not in the input; they are part of all figures (columns Orphans, Orphan busy)");
  if (graphs != 0)
    table.note(
        "breakdown: launches of CUDA graphs that were recorded as a whole count as computation: what ran inside them "
        "is not known (columns Whole graphs, Whole graph busy)");
}

/// What tells rows apart.
void add_keys(ColumnsOf<BreakdownRow>& columns, BreakdownBy by, const Timeline& timeline, bool with_process) {
  using Row = BreakdownRow;
  columns.text("Device", [&](const Row& row) {
    return row.device != kNone ? std::to_string(timeline.devices[row.device].id) : std::string("host");
  });
  if (with_process) columns.text("Process", [&](const Row& row) { return process_label(timeline, row.process); });
  if (by == BreakdownBy::kStep) columns.count("Step", &Row::step);
  if (by != BreakdownBy::kRange) return;
  columns.text("Range", common::range_or_reason<Row>).naming_rows();
  columns.count("Instances", [](const Row& row) { return if_that(!row.unowned, row.instances); }).if_room(9);
}

template <typename Member>
auto idle(Member member) {
  return [member](const BreakdownRow& row) { return row.idle.*member; };
}

}  // namespace

Result<Table> make_breakdown(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = BreakdownRow;
  const Timeline& timeline = projected.timeline();
  const BreakdownBy by = by_of(options);
  BreakdownOptions wanted;
  wanted.by = by;
  const std::vector<Row> rows = analysis::breakdown(timeline, projected.projection(), wanted);

  ColumnsOf<Row> columns(timeline);
  add_keys(columns, by, timeline, of_several_processes(rows));
  columns.time("Computation", &Row::computation_ns);
  columns.time("Communication", &Row::communication_ns).if_any();
  columns.time("Exposed communication", &Row::exposed_communication_ns).if_any();
  columns.time("Memcpy", &Row::memcpy_ns).if_room(8).if_any();
  columns.time("Exposed memcpy", &Row::exposed_memcpy_ns).if_room(3).if_any();
  columns.time("Busy", &Row::busy_ns).if_room(1);
  columns.time("Idle", &Row::idle_ns);
  if (by == BreakdownBy::kRange) columns.time("Other work", &Row::other_work_ns).if_room(10).if_any();
  columns.time("Total", &Row::total_ns);
  columns.time("Host wait", idle(&IdleReasons::host_wait_ns)).if_room(1).if_any();
  columns.time("Kernel wait", idle(&IdleReasons::kernel_wait_ns)).if_room(2).if_any();
  columns.time("Sync wait", idle(&IdleReasons::sync_wait_ns)).if_room(5).if_any();
  columns.time("Other idle", idle(&IdleReasons::other_ns)).if_room(4).if_any();
  columns.count("Ops", &Row::ops).if_room(11);
  columns.count("Orphans", &Row::orphan_ops).if_room(7).if_any();
  columns.time("Orphan busy", &Row::orphan_busy_ns).if_room(6).if_any();
  columns.count("Whole graphs", &Row::graph_ops).if_room(12).if_any();
  columns.time("Whole graph busy", &Row::graph_busy_ns).if_room(12).if_any();
  columns
      .text("Device name",
            [&](const Row& row) { return row.device != kNone ? timeline.devices[row.device].name : std::string(); })
      .for_programs();
  Table table = columns.table_of(rows);
  add_notes(rows, by, timeline, table);
  return table;
}

}  // namespace rangefinder::report
