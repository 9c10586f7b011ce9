// SPDX-License-Identifier: MIT
#include "analysis/range_calls.hpp"
#include "analysis/range_rollup.hpp"
#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

// `api_ranges`: how much of each range's time on the host is spent in CUDA calls, and in which.
namespace rangefinder::report {
namespace {

/// Time on the host by name: of the outermost ranges of each name, as in the view ranges; kNull for other texts.
std::vector<std::int64_t> host_time_by_name(const Subject& subject) {
  const analysis::RangeGroups groups =
      analysis::roll_up_ranges(subject.timeline(), subject.projection(), subject.projection_options(),
                               analysis::GroupBy::kName, {}, {}, analysis::HostSpread::kNotWanted);
  std::vector<std::int64_t> out(subject.timeline().string_count(), kNull);
  for (const analysis::RangeGroup& group : groups.rows) out[static_cast<std::uint32_t>(group.name)] = group.host_ns;
  return out;
}

Result<Table> make_api_ranges(const Subject& subject, const ViewOptions& options) {
  const Timeline& timeline = subject.timeline();
  Table table({own::text("Range"), own::if_any(own::text("Call")), own::count("Count"), own::time("Time"),
               own::if_any(own::percent("Share of range")), own::time("Self"), own::if_room(1, own::time("Avg")),
               own::if_room(2, own::time("Max"))});
  const std::vector<std::int64_t> host = host_time_by_name(subject);
  const std::vector<analysis::RangeCalls> rows =
      analysis::calls_of_ranges(timeline, subject.projection(), subject.projection_options(), !options.summary);
  bool any_further_inside = false;
  for (const analysis::RangeCalls& row : rows) {
    const std::int64_t host_ns = row.outside ? kNull : host[static_cast<std::uint32_t>(row.range)];
    if (row.outside)
      table.text("(outside any range)");
    else
      table.text(timeline, row.range);
    if (row.further_inside)
      table.text("(further inside)");
    else
      table.text(timeline, row.call);
    table.number(static_cast<std::int64_t>(row.count))
        .number(row.inclusive_ns)
        .optional(host_ns != kNull, own::share(row.inclusive_ns, host_ns))
        .number(row.exclusive_ns)
        .number(own::mean(row.inclusive_ns, row.count))
        .number(row.longest_ns);
    any_further_inside = any_further_inside || row.further_inside;
  }
  if (any_further_inside)
    table.note("more than " + base::with_thousands(analysis::kMaxRowsOfCalls) +
               " pairs of range and function: functions called only by inner ranges are one row, (further inside)");
  return table;
}

}  // namespace

namespace views_list {
extern const View api_ranges{"api_ranges", "Host time in CUDA calls, by range and function (:summary: by range)",
                             kNeedsCalls,  "summary",
                             false,        make_api_ranges};
}  // namespace views_list

}  // namespace rangefinder::report
