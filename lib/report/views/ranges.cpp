// SPDX-License-Identifier: MIT
#include "analysis/pass_split.hpp"
#include "analysis/payloads.hpp"
#include "analysis/range_rollup.hpp"
#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"
#include "report/views/pass_columns.hpp"
#include "report/views/path_rows.hpp"
#include "report/views/payload_columns.hpp"
#include "report/views/range_paths.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// `ranges`: one row a name, or an instance. `tree`: one row a path.
namespace rangefinder::report {
namespace {

using analysis::GroupBy;
using analysis::RangeGroup;
using analysis::RangeGroups;

void add_estimate_column(std::vector<Column>& columns, const Timeline& timeline) {
  if (!timeline.activities.estimated.empty()) columns.push_back(own::if_any(own::time("GPU estimated")));
}

void add_estimate(Table& table, const Timeline& timeline, std::int64_t ns) {
  if (!timeline.activities.estimated.empty()) table.number(ns);
}

/// Text has these where the host is all that there is; elsewhere they are there to be chosen.
Column of_host_alone(const Subject& subject, Column column) {
  return subject.timeline().activities.size() == 0 ? column : own::for_programs(std::move(column));
}

std::vector<Column> group_columns(Column name, const Subject& subject) {
  using own::if_any;
  using own::if_room;
  const bool bounded = !subject.timeline().conditional_graphs.empty();
  std::vector<Column> columns{std::move(name),
                              own::count("Count"),
                              own::time("Host"),
                              of_host_alone(subject, own::time("Host self")),
                              of_host_alone(subject, if_room(1, own::percent("Host self share"))),
                              if_room(3, own::time("Host avg")),
                              of_host_alone(subject, if_room(5, own::time("Host min"))),
                              of_host_alone(subject, if_room(2, own::time("Host median"))),
                              of_host_alone(subject, if_room(4, own::time("Host p95"))),
                              of_host_alone(subject, if_room(1, own::time("Host max"))),
                              if_any(own::time("GPU busy")),
                              if_room(1, if_any(own::percent("GPU share"))),
                              if_any(own::time("GPU self")),
                              own::for_programs(own::time("GPU sum")),
                              own::for_programs(own::time("GPU span")),
                              if_room(4, if_any(own::time("GPU idle"))),
                              own::may_be_more(bounded, if_room(2, if_any(own::count("GPU ops")))),
                              if_room(6, if_any(own::time("Launch delay avg"))),
                              if_room(5, if_any(own::bytes("Bytes")))};
  own::add_bound_column(columns, bounded);
  add_estimate_column(columns, subject.timeline());
  own::add_pass_columns(columns, !subject.projection().pass.empty());
  return columns;
}

void add_host_figures(Table& table, const RangeGroup& group, std::int64_t all_self_ns) {
  const bool ran = group.host_count != 0;
  table.number(static_cast<std::int64_t>(group.count))
      .number(group.host_ns)
      .number(group.host_self_ns)
      .number(own::share(group.host_self_ns, all_self_ns))
      .number(own::mean(group.host_ns, group.host_count))
      .optional(ran, group.host_min_ns)
      .optional(ran, group.host_median_ns)
      .optional(ran, group.host_p95_ns)
      .optional(ran, group.host_max_ns);
}

void add_device_figures(Table& table, const RangeGroups& groups, std::size_t number, const Subject& subject) {
  const RangeGroup& group = groups[number];
  const analysis::GroupExtra extra = groups.extra(number);
  const Projection& projection = subject.projection();
  const analysis::InclusiveFigures& all = group.inclusive;
  table.number(all.gpu_busy_ns)
      .number(own::share(all.gpu_sum_ns, projection.account.total.gpu_sum_ns))
      .number(group.exclusive.gpu_busy_ns)
      .number(all.gpu_sum_ns)
      .number(group.span_ns)
      // Busy counts each device by itself: with several, more can be busy than the span has room for.
      .number(std::max<std::int64_t>(0, group.span_ns - all.any_busy_ns))
      .number(static_cast<std::int64_t>(all.gpu_ops))
      .optional(all.gpu_ops != 0, all.gpu_ops != 0 ? own::mean(all.launch_delay_ns, all.gpu_ops) : 0)
      .number(static_cast<std::int64_t>(all.bytes));
  own::add_bound(table, !subject.timeline().conditional_graphs.empty(), extra.conditional_ops);
  add_estimate(table, subject.timeline(), extra.estimated_ns);
  own::add_passes(table, !projection.pass.empty(), extra.pass_ns);
}

std::int64_t self_time_of_all(const RangeGroups& groups) {
  std::int64_t sum = 0;
  for (const RangeGroup& group : groups.rows) sum += group.host_self_ns;
  return sum;
}

/// "main 4711"; traces of torch.profiler have the number in the name.
std::string numbered_name(const ThreadInfo& thread) {
  const std::string number = std::to_string(thread.tid);
  if (thread.name.find(number) != std::string::npos) return thread.name;
  return thread.name.empty() ? number : thread.name + " " + number;
}

Result<Table> make_instances(const Subject& subject, const analysis::PayloadCondition* condition) {
  const Timeline& timeline = subject.timeline();
  const Projection& projection = subject.projection();
  using own::if_any;
  using own::if_room;
  const bool bounded = !timeline.conditional_graphs.empty();
  std::vector<Column> columns{own::path("Range"),
                              own::text("Thread"),
                              if_any(own::text("Payload")),
                              own::timestamp("Begin"),
                              own::time("Host"),
                              if_any(own::time("GPU busy")),
                              if_room(2, if_any(own::time("GPU self"))),
                              own::for_programs(own::time("GPU sum")),
                              if_room(3, if_any(own::timestamp("GPU begin"))),
                              own::for_programs(own::time("GPU span")),
                              if_room(4, if_any(own::time("GPU idle"))),
                              own::may_be_more(bounded, if_room(1, if_any(own::count("GPU ops")))),
                              if_room(6, if_any(own::time("Launch delay avg"))),
                              if_room(5, if_any(own::bytes("Bytes"))),
                              own::for_programs(own::count("Row"))};
  own::add_bound_column(columns, bounded);
  add_estimate_column(columns, timeline);
  own::add_pass_columns(columns, !projection.pass.empty());
  own::add_id_columns(columns);
  Table table(std::move(columns));
  RangePaths paths(table, timeline, projection);
  const std::vector<std::int64_t> conditional = analysis::conditional_ops_of_ranges(timeline, projection);
  const std::vector<std::int64_t> estimated = analysis::estimated_times_of_ranges(timeline, projection);
  const std::vector<analysis::PassTimes> passes = analysis::pass_times_of_ranges(timeline, projection);
  const RangeTable& ranges = timeline.ranges;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    if (!analysis::takes_part(ranges.kind[range], subject.projection_options())) continue;
    const DeviceFigures& all = projection.inclusive[range];
    const bool busy = all.gpu_ops != 0;
    if ((ranges.flags[range] & kBeforeRecording) != 0 && !busy) continue;
    if (condition != nullptr && !condition->holds(timeline, range)) continue;
    const ThreadInfo& thread = timeline.threads[ranges.thread[range]];
    const Paths::Node path = paths.of(range);
    table.path(path)
        .text(numbered_name(thread))
        .text(analysis::payload_text(timeline, range))
        .number(ranges.begin_ns[range])
        .optional(ranges.is_run(range), ranges.run_ns(range))
        .number(all.gpu_busy_ns)
        .number(projection.exclusive[range].gpu_busy_ns)
        .number(all.gpu_sum_ns)
        .optional(busy, all.first_ns)
        .optional(busy, busy ? all.gpu_span_ns() : 0)
        .optional(busy, busy ? std::max<std::int64_t>(0, all.gpu_span_ns() - all.any_busy_ns) : 0)
        .number(static_cast<std::int64_t>(all.gpu_ops))
        .optional(busy, busy ? own::mean(all.launch_delay_ns, all.gpu_ops) : 0)
        .number(static_cast<std::int64_t>(all.bytes))
        .optional(ranges.source_row[range] >= 0, ranges.source_row[range]);
    own::add_bound(table, bounded, bounded ? conditional[range] : 0);
    if (!estimated.empty()) table.number(estimated[range]);
    own::add_passes(table, !projection.pass.empty(), passes.empty() ? analysis::PassTimes{} : passes[range]);
    own::add_ids(table, path);
  }
  return table;
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

Table make_names(const Subject& subject, const analysis::PayloadCondition* condition, bool divided) {
  const Timeline& timeline = subject.timeline();
  const ProjectionOptions& options = subject.projection_options();
  analysis::PayloadParts by_payload;
  const std::vector<std::uint32_t> parts = parts_of(timeline, condition, by_payload, divided);
  std::optional<RangeGroups> of_parts;
  if (!parts.empty())
    of_parts = analysis::roll_up_ranges(timeline, subject.projection(), options, GroupBy::kName, {}, parts);
  const RangeGroups& groups = of_parts ? *of_parts : subject.groups_by_name();
  // The device's time is the question; where there is none, the host's.
  std::vector<std::uint32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto rank = [&](std::uint32_t group) {
      return std::tuple(-groups[group].inclusive.gpu_busy_ns, -groups[group].host_ns, group);
    };
    return rank(a) < rank(b);
  });
  std::vector<Column> columns = group_columns(own::text("Range"), subject);
  if (divided) columns.insert(columns.begin() + 1, own::text("Payload"));
  const bool any_payload = analysis::has_payloads(timeline);
  if (any_payload && !divided) own::PayloadStatistics::add_columns(columns);
  Table table(std::move(columns));
  const own::PayloadStatistics statistics(timeline, options, parts);
  const std::int64_t all_self_ns = self_time_of_all(groups);
  for (const std::uint32_t number : order) {
    const RangeGroup& group = groups[number];
    table.text(timeline, group.name);
    if (divided) table.text(by_payload.text[group.part]);
    add_host_figures(table, group, all_self_ns);
    add_device_figures(table, groups, number, subject);
    if (any_payload && !divided) statistics.add(table, group);
  }
  return table;
}

Result<Table> make_ranges(const Subject& subject, const ViewOptions& options) {
  if (options.instances && options.by_payload)
    return Error(ErrorCode::kInvalidArgument, "--instances and --group-by payload: choose one");
  std::optional<analysis::PayloadCondition> condition;
  if (!options.payload.empty()) {
    Result<analysis::PayloadCondition> parsed = analysis::PayloadCondition::parse(options.payload);
    if (!parsed) return std::move(parsed).error();
    condition = std::move(*parsed);
  }
  const analysis::PayloadCondition* wanted = condition ? &*condition : nullptr;
  Result<Table> table = options.instances ? make_instances(subject, wanted)
                                          : Result<Table>(make_names(subject, wanted, options.by_payload));
  if ((options.by_payload || wanted != nullptr) && !analysis::has_payloads(subject.timeline()))
    table->note("no range of this input has a payload (ProfileRange{\"decode\", tokens}, NVTX payloads)");
  else if (wanted != nullptr && table->row_count() == 0)
    table->note("no range has a payload that matches " + base::printable(options.payload));
  return table;
}

Result<Table> make_tree(const Subject& subject, const ViewOptions& options) {
  const Timeline& timeline = subject.timeline();
  const Projection& projection = subject.projection();
  const analysis::PathTree tree = analysis::range_tree(timeline, projection, subject.projection_options(),
                                                       own::folding_of(options), analysis::HostSpread::kWanted);
  std::vector<Column> columns = group_columns(own::path_name("Range"), subject);
  own::add_path_columns(columns);
  Table table(std::move(columns));
  own::add_paths(table, timeline, tree);
  const std::int64_t all_self_ns = self_time_of_all(tree.groups);
  for (const std::uint32_t group : tree.order) {
    add_host_figures(table.path(group), tree.groups[group], all_self_ns);
    add_device_figures(table, tree.groups, group, subject);
    own::add_path(table, group);
  }
  return table;
}

}  // namespace

namespace views_list {
extern const View ranges{"ranges",   "Ranges by name, with their GPU time (--instances: each)", kNeedsRanges, {}, false,
                         make_ranges};
extern const View tree{"tree",   "Ranges by path, as they are nested, with their GPU time", kNeedsRanges, {}, false,
                       make_tree};
}  // namespace views_list

}  // namespace rangefinder::report
