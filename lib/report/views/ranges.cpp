// SPDX-License-Identifier: MIT
#include "analysis/pass_split.hpp"
#include "analysis/payloads.hpp"
#include "analysis/range_rollup.hpp"
#include "base/descending.hpp"
#include "base/text.hpp"
#include "report/range_report.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/instances.hpp"
#include "report/views/pass_columns.hpp"
#include "report/views/path_rows.hpp"
#include "report/views/payload_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

// `ranges`: one row a name (instances.cpp: one row a range). `tree`: one row a path.
namespace rangefinder::report {
namespace {

using analysis::GroupBy;
using analysis::RangeGroup;
using analysis::RangeGroups;

/// The ranges of one name, or of one path: then the number of the group is that of the path.
struct GroupRow {
  std::uint32_t number;
  const RangeGroup& group;
  analysis::GroupExtra extra;
  std::string_view part = {};  ///< the payload that its instances have in common
  const common::PayloadFigures* payload = nullptr;

  const analysis::InclusiveFigures& all() const noexcept { return group.inclusive; }
};

/// Text has the columns of the host where the host is all that there is; elsewhere they are there to be chosen.
void add_host_columns(ColumnsOf<GroupRow>& columns, const RangeReport& report, std::int64_t all_self_ns) {
  using Row = GroupRow;
  const bool host_alone = report.facts.activities == 0;
  const auto of_host_alone = [host_alone](Column& column) {
    if (!host_alone) column.for_programs();
  };
  const auto if_ran = [](std::int64_t RangeGroup::*time) {
    return [time](const Row& row) { return if_that(row.group.host_count != 0, row.group.*time); };
  };
  const auto self_share = [all_self_ns](const Row& row) { return common::share(row.group.host_self_ns, all_self_ns); };
  const auto host_avg = [](const Row& row) { return common::mean(row.group.host_ns, row.group.host_count); };
  columns.count("Count", [](const Row& row) { return row.group.count; });
  columns.time("Host", [](const Row& row) { return row.group.host_ns; });
  of_host_alone(columns.time("Host self", [](const Row& row) { return row.group.host_self_ns; }));
  of_host_alone(columns.percent("Host self share", self_share).if_room(1));
  columns.time("Host avg", host_avg).if_room(3);
  of_host_alone(columns.time("Host min", if_ran(&RangeGroup::host_min_ns)).if_room(5));
  of_host_alone(columns.time("Host median", if_ran(&RangeGroup::host_median_ns)).if_room(2));
  of_host_alone(columns.time("Host p95", if_ran(&RangeGroup::host_p95_ns)).if_room(4));
  of_host_alone(columns.time("Host max", if_ran(&RangeGroup::host_max_ns)).if_room(1));
}

void add_device_columns(ColumnsOf<GroupRow>& columns, const RangeReport& report) {
  using Row = GroupRow;
  const bool bounded = report.facts.has_bounds;
  const std::int64_t all_ns = report.facts.account.total.gpu_sum_ns;
  // Busy counts each device by itself: with several, more can be busy than the span has room for.
  const auto idle = [](const Row& row) { return std::max<std::int64_t>(0, row.group.span_ns - row.all().any_busy_ns); };
  const auto launch_delay = [](const Row& row) { return common::mean(row.all().launch_delay_ns, row.all().gpu_ops); };
  columns.time("GPU busy", [](const Row& row) { return row.all().gpu_busy_ns; }).if_any();
  columns.percent("GPU share", [all_ns](const Row& row) { return common::share(row.all().gpu_sum_ns, all_ns); })
      .if_room(1)
      .if_any();
  columns.time("GPU self", [](const Row& row) { return row.group.exclusive.gpu_busy_ns; }).if_any();
  columns.time("GPU sum", [](const Row& row) { return row.all().gpu_sum_ns; }).for_programs();
  columns.time("GPU span", [](const Row& row) { return row.group.span_ns; }).for_programs();
  columns.time("GPU idle", idle).if_room(4).if_any();
  columns.count("GPU ops", [](const Row& row) { return row.all().gpu_ops; })
      .if_room(2)
      .if_any()
      .bounded_by(common::conditional_title(bounded));
  columns.time("Launch delay avg", launch_delay).if_room(6).if_any();
  columns.bytes("Bytes", [](const Row& row) { return row.all().bytes; }).if_room(5).if_any();
  common::add_conditional(columns, bounded, [](const Row& row) { return row.extra.conditional_ops; });
  if (report.facts.has_estimates)
    columns.time("GPU estimated", [](const Row& row) { return row.extra.estimated_ns; }).if_any();
  common::add_passes(columns, report.facts.has_passes, [](const Row& row) { return row.extra.pass_ns; });
}

std::int64_t self_time_of_all(const RangeGroups& groups) {
  std::int64_t sum = 0;
  for (const RangeGroup& group : groups.rows) sum += group.host_self_ns;
  return sum;
}

/// Which groups instances are in: by payload where that was asked for, and none where the condition does not hold.
std::vector<std::uint32_t> parts_of(const Timeline& timeline, const analysis::PayloadCondition* condition,
                                    analysis::PayloadParts& by_payload, bool divided) {
  std::vector<std::uint32_t> parts;
  if (divided) {
    by_payload = analysis::parts_by_payload(timeline);
    parts = by_payload.part;
  } else if (condition != nullptr) {
    parts.assign(timeline.ranges.size(), 0);
  }
  if (condition != nullptr)
    for (RangeIndex range{0}; range < timeline.ranges.size(); ++range)
      if (!condition->holds(timeline, range)) parts[range] = kNone;
  return parts;
}

/// The device's time is the question; where there is none, the host's.
std::vector<std::uint32_t> order_of_names(const RangeGroups& groups) {
  std::vector<std::uint32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const auto rank = [&](std::uint32_t group) {
      return std::tuple(base::Descending{groups[group].inclusive.gpu_busy_ns}, base::Descending{groups[group].host_ns},
                        group);
    };
    return rank(a) < rank(b);
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  return order;
}

/// `parts`: the texts of the parts that groups are divided into; null: they are not.
Table table_of(const RangeReport& report, const RangeGroups& groups, const common::PayloadStatistics& payloads,
               const std::vector<std::string>* parts) {
  ColumnsOf<GroupRow> columns(report.timeline);
  columns.text("Range", [](const GroupRow& row) { return row.group.name; });
  if (parts != nullptr) columns.text("Payload", &GroupRow::part);
  add_host_columns(columns, report, self_time_of_all(groups));
  add_device_columns(columns, report);
  if (parts == nullptr && payloads.any()) common::add_payload_columns(columns);
  Table table = columns.table();
  for (const std::uint32_t number : order_of_names(groups)) {
    const RangeGroup& group = groups[number];
    const std::string_view part = parts != nullptr ? std::string_view((*parts)[group.part]) : std::string_view();
    columns.add_row(table, {number, group, groups.extra(number), part, payloads.of(group)});
  }
  return table;
}

analysis::RecordingFacts facts_of(const ProjectedTimeline& projected) {
  analysis::RecordingFacts facts;
  facts.add(projection::WindowRows::whole(projected.timeline(), projected.projection()));
  return facts;
}

Table make_names(const ProjectedTimeline& projected, const analysis::PayloadCondition* condition, bool divided) {
  const Timeline& timeline = projected.timeline();
  const ProjectionOptions& options = projected.projection_options();
  analysis::PayloadParts by_payload;
  const std::vector<std::uint32_t> parts = parts_of(timeline, condition, by_payload, divided);
  std::optional<RangeGroups> of_parts;
  if (!parts.empty())
    of_parts = analysis::roll_up_ranges(timeline, projected.projection(), options, GroupBy::kName, {}, parts);
  const RangeGroups& groups = of_parts ? *of_parts : projected.groups_by_name();
  common::PayloadStatistics payloads(options);
  payloads.add(projection::WindowRows::whole(timeline, projected.projection()), parts);
  const analysis::RecordingFacts facts = facts_of(projected);
  return table_of({timeline, facts}, groups, payloads, divided ? &by_payload.text : nullptr);
}

}  // namespace

Result<Table> make_ranges(const ProjectedTimeline& projected, const ViewOptions& options) {
  if (options.instances && options.by_payload)
    return Error(ErrorCode::kInvalidArgument, "--instances and --group-by payload: choose one");
  std::optional<analysis::PayloadCondition> condition;
  if (!options.payload.empty()) {
    Result<analysis::PayloadCondition> parsed = analysis::PayloadCondition::parse(options.payload);
    if (!parsed) return std::move(parsed).error();
    condition = std::move(*parsed);
  }
  const analysis::PayloadCondition* wanted = condition ? &*condition : nullptr;
  Table table = options.instances ? table_of_instances(projected, facts_of(projected), wanted)
                                  : make_names(projected, wanted, options.by_payload);
  if ((options.by_payload || wanted != nullptr) && !analysis::has_payloads(projected.timeline()))
    table.note("no range of this input has a payload (ProfileRange{\"decode\", tokens}, NVTX payloads)");
  else if (wanted != nullptr && table.row_count() == 0)
    table.note("no range has a payload that matches " + base::printable(options.payload));
  return table;
}

Result<Table> make_tree(const ProjectedTimeline& projected, const ViewOptions& options) {
  const analysis::RecordingFacts facts = facts_of(projected);
  return table_of_paths({projected.timeline(), facts},
                        common::tree_of(projected, projected.projection(), options, analysis::HostSpread::kWanted));
}

Table table_of_names(const RangeReport& report, const RangeGroups& groups, const common::PayloadStatistics& payloads) {
  return table_of(report, groups, payloads, nullptr);
}

Table table_of_paths(const RangeReport& report, const analysis::PathTree& tree) {
  ColumnsOf<GroupRow> columns;
  columns.path_name("Range", &GroupRow::number);
  add_host_columns(columns, report, self_time_of_all(tree.groups));
  add_device_columns(columns, report);
  common::add_path_columns(columns, &GroupRow::number);
  Table table = columns.table();
  common::add_paths(table, report.timeline, tree);
  for (const std::uint32_t group : tree.order)
    columns.add_row(table, {group, tree.groups[group], tree.groups.extra(group)});
  return table;
}

}  // namespace rangefinder::report
