// SPDX-License-Identifier: MIT
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/duration_totals.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

// `api`: CUDA calls on the host by name, or each one.
namespace rangefinder::report {
namespace {

struct CallGroup : DurationTotals {
  StringId name = StringId::kEmpty;
  CallDomain domain = CallDomain::kRuntime;
  std::uint64_t failed = 0;
};

const char* domain_name(CallDomain domain) {
  switch (domain) {
    case CallDomain::kRuntime:
      return "runtime";
    case CallDomain::kDriver:
      return "driver";
    case CallDomain::kInternal:
      return "internal";
  }
  return "";
}

Table instances_of(const Timeline& timeline) {
  const CallTable& calls = timeline.calls;
  ColumnsOf<CallIndex> columns(timeline);
  columns.text("Call", [&](CallIndex row) { return calls.name[row]; });
  columns.text("API", [&](CallIndex row) { return domain_name(calls.domain[row]); });
  columns.timestamp("Begin", [&](CallIndex row) { return calls.begin_ns[row]; });
  columns.time("Duration", [&](CallIndex row) { return calls.end_ns[row] - calls.begin_ns[row]; });
  columns.count("Thread", [&](CallIndex row) { return timeline.threads[calls.thread[row]].tid; });
  const auto correlation = [&](CallIndex row) { return if_that(calls.correlation[row] != 0, calls.correlation[row]); };
  columns.count("Correlation", correlation).if_room(1);
  columns.count("Result", [&](CallIndex row) { return calls.result[row]; });
  Table table = columns.table();
  for (CallIndex row{0}; row < calls.size(); ++row) columns.add_row(table, row);
  return table;
}

std::vector<CallGroup> groups_of(const CallTable& calls) {
  std::vector<CallGroup> groups;
  std::unordered_map<std::uint64_t, std::size_t> by_name;
  for (CallIndex row{0}; row < calls.size(); ++row) {
    const std::uint64_t key =
        std::uint64_t{static_cast<std::uint32_t>(calls.name[row])} << 8 | static_cast<std::uint64_t>(calls.domain[row]);
    const auto [found, added] = by_name.try_emplace(key, groups.size());
    if (added) groups.push_back({{}, calls.name[row], calls.domain[row]});
    CallGroup& group = groups[found->second];
    group.add(calls.end_ns[row] - calls.begin_ns[row]);
    group.failed += calls.result[row] != 0 ? 1 : 0;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const CallGroup& a, const CallGroup& b) { return a.total > b.total; });
  return groups;
}

}  // namespace

Result<Table> make_api(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = CallGroup;
  const Timeline& timeline = projected.timeline();
  if (options.instances) return instances_of(timeline);
  const std::vector<Row> groups = groups_of(timeline.calls);
  std::int64_t whole = 0;
  for (const Row& row : groups) whole += row.total;
  ColumnsOf<Row> columns(timeline);
  columns.text("Call", &Row::name);
  columns.text("API", [](const Row& row) { return domain_name(row.domain); });
  columns.count("Count", &Row::count);
  columns.time("Total", &Row::total);
  columns.percent("Share", [whole](const Row& row) { return common::share(row.total, whole); });
  columns.time("Avg", [](const Row& row) { return common::mean(row.total, row.count); });
  columns.time("Min", &Row::min).if_room(2);
  columns.time("Max", &Row::max).if_room(1);
  columns.count("Failed", &Row::failed);
  return columns.table_of(groups);
}

}  // namespace rangefinder::report
