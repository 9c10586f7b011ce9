// SPDX-License-Identifier: MIT
#include "analysis/range_calls.hpp"
#include "analysis/range_rollup.hpp"
#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

// `api_ranges`: how much of each range's time on the host is spent in CUDA calls, and in which.
namespace rangefinder::report {
namespace {

/// Time on the host by name: of the outermost ranges of each name, as in the view ranges; kNull for other texts.
std::vector<std::int64_t> host_time_by_name(const ProjectedTimeline& projected) {
  const analysis::RangeGroups groups =
      analysis::roll_up_ranges(projected.timeline(), projected.projection(), projected.projection_options(),
                               analysis::GroupBy::kName, {}, {}, analysis::HostSpread::kNotWanted);
  std::vector<std::int64_t> out(projected.timeline().string_count(), kNull);
  for (const analysis::RangeGroup& group : groups.rows) out[static_cast<std::uint32_t>(group.name)] = group.host_ns;
  return out;
}

}  // namespace

Result<Table> make_api_ranges(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = analysis::RangeCalls;
  const Timeline& timeline = projected.timeline();
  const std::vector<std::int64_t> host = host_time_by_name(projected);
  const auto share_of_range = [&](const Row& row) -> std::optional<std::int64_t> {
    const std::int64_t host_ns = row.outside ? kNull : host[static_cast<std::uint32_t>(row.range)];
    if (host_ns == kNull) return {};
    return common::share(row.inclusive_ns, host_ns);
  };
  ColumnsOf<Row> columns(timeline);
  columns.text("Range", [](const Row& row) { return row.outside ? CellText("(outside any range)") : row.range; });
  columns.text("Call", [](const Row& row) { return row.further_inside ? CellText("(further inside)") : row.call; })
      .if_any();
  columns.count("Count", &Row::count);
  columns.time("Time", &Row::inclusive_ns);
  columns.percent("Share of range", share_of_range).if_any();
  columns.time("Self", &Row::exclusive_ns);
  columns.time("Avg", [](const Row& row) { return common::mean(row.inclusive_ns, row.count); }).if_room(1);
  columns.time("Max", &Row::longest_ns).if_room(2);
  const std::vector<Row> rows = analysis::calls_of_ranges(timeline, projected.projection(),
                                                          projected.projection_options(), !options.is(kSummary));
  Table table = columns.table_of(rows);
  if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.further_inside; }))
    table.note("more than " + base::with_thousands(analysis::kMaxRowsOfCalls) +
               " pairs of range and function: functions called only by inner ranges are one row, (further inside)");
  return table;
}

}  // namespace rangefinder::report
