// SPDX-License-Identifier: MIT
#include "analysis/family_totals.hpp"
#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"

#include <cstdint>
#include <string>
#include <vector>

// `families`: device time by the kind of work: GEMM, attention, elementwise, copy, ...
namespace rangefinder::report {
namespace {

using analysis::FamilyTotal;

void add_notes(const Timeline& timeline, const analysis::KernelFamilies& families, Table& table) {
  const ActivityTable& activities = timeline.activities;
  std::uint64_t whole = 0, unknown = 0;
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    if (families.of(activity) != analysis::KernelFamily::kOther) continue;
    if (activities.kind[activity] == ActivityKind::kGraph)
      ++whole;
    else if (families.operator_of(activity) == kNone)
      ++unknown;
  }
  if (whole != 0)
    table.note("families: " + base::with_thousands(whole) +
               " launches of CUDA graphs were recorded as a whole, and count as other: what ran inside is not known");
  if (unknown != 0)
    table.note(
        "families: the names of " + base::with_thousands(unknown) +
        " operations say nothing, and no operator is around their launch: they count as other (record operators)");
}

}  // namespace

Result<Table> make_families(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = FamilyTotal;
  const Timeline& timeline = projected.timeline();
  const analysis::KernelFamilies families(timeline);
  const bool by_range = options.by == "range";
  const std::vector<Row> rows = by_range ? analysis::family_totals_of_ranges(timeline, projected.projection(),
                                                                             projected.projection_options(), families)
                                         : analysis::family_totals(timeline, families);
  const std::int64_t all_ns = projected.projection().account.total.gpu_sum_ns;
  ColumnsOf<Row> columns(timeline);
  if (by_range) columns.text("Range", common::range_or_reason<Row>).naming_rows();
  columns.text("Family", [](const Row& row) { return analysis::word_of(row.family); });
  columns.count("GPU ops", &Row::ops);
  columns.time("GPU sum", &Row::gpu_sum_ns);
  columns.percent("Share", [all_ns](const Row& row) { return common::share(row.gpu_sum_ns, all_ns); });
  columns.time("GPU sum avg", [](const Row& row) { return common::mean(row.gpu_sum_ns, row.ops); }).if_room(2);
  if (!by_range) {
    columns.time("GPU busy", &Row::gpu_busy_ns).if_room(1);
    columns.count("Kernels", &Row::names).if_room(4);
    columns.text("Main operator", &Row::main_operator).if_room(3);
    columns.kernel("Main kernel", &Row::main_kernel).if_room(5);
  }
  Table table = columns.table_of(rows);
  add_notes(timeline, families, table);
  return table;
}

}  // namespace rangefinder::report
