// SPDX-License-Identifier: MIT
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"
#include "report/views/range_paths.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

// `kernels` and `memcpy`: device activities by name, or each one, with the range that owns them.
namespace rangefinder::report {
namespace {

struct OperationGroup {
  StringId name = StringId::kEmpty;
  std::uint64_t count = 0;
  std::int64_t total = 0, min = 0, max = 0;
  std::uint64_t bytes = 0;
  std::int64_t conditional = 0;                            // of graphs with conditional nodes
  std::unordered_map<std::uint32_t, std::int64_t> owners;  // range name -> time
};

std::uint32_t owner_name(const Timeline& timeline, std::uint32_t owner) {
  return owner < timeline.ranges.size() ? static_cast<std::uint32_t>(timeline.ranges.name[owner]) : kNone;
}

bool is_computation(ActivityKind kind) { return !is_copy(kind); }
bool is_movement(ActivityKind kind) { return is_copy(kind); }

std::vector<OperationGroup> groups_of(const ProjectedTimeline& projected, bool (*wanted)(ActivityKind)) {
  const Timeline& timeline = projected.timeline();
  const ActivityTable& activities = timeline.activities;
  const Projection& projection = projected.projection();
  std::vector<OperationGroup> groups;
  std::unordered_map<std::uint32_t, std::size_t> by_name;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (!wanted(activities.kind[row])) continue;
    const auto [found, added] = by_name.try_emplace(static_cast<std::uint32_t>(activities.name[row]), groups.size());
    if (added) groups.push_back({activities.name[row]});
    OperationGroup& group = groups[found->second];
    const std::int64_t duration = activities.end_ns[row] - activities.begin_ns[row];
    group.min = group.count == 0 ? duration : std::min(group.min, duration);
    group.max = std::max(group.max, duration);
    group.total += duration;
    group.count += 1;
    group.conditional += timeline.is_lower_bound(row) ? 1 : 0;
    group.bytes += activities.bytes[row];
    group.owners[owner_name(timeline, projection.owner[row])] += duration;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const OperationGroup& a, const OperationGroup& b) { return a.total > b.total; });
  return groups;
}

/// The range name that owns most of the group's time; equal shares by name, so that the answer does not depend on a
/// hash.
std::string main_owner(const Timeline& timeline, const OperationGroup& group) {
  std::uint32_t best = kNone;
  std::int64_t most = -1;
  for (const auto& [name, time] : group.owners) {
    if (time > most || (time == most && name < best)) {
      best = name;
      most = time;
    }
  }
  const std::string owner =
      best == kNone ? std::string("(none)") : std::string(timeline.text(static_cast<StringId>(best)));
  return group.owners.size() == 1 ? owner : owner + " and " + std::to_string(group.owners.size() - 1) + " more";
}

/// An activity, and the paths in which it counts and was launched; the latter where that is another.
struct OperationRow {
  ActivityIndex activity;
  Paths::Node owner;
  Paths::Node launcher;
};

void add_kernel_columns(ColumnsOf<OperationRow>& columns, const Timeline& timeline) {
  const auto detail = [&timeline](auto get) {
    return [&timeline, get](const OperationRow& row) -> std::optional<std::int64_t> {
      const std::uint32_t number = timeline.activities.detail[row.activity];
      if (number == kNone) return {};
      return get(timeline.kernel_details[number]);
    };
  };
  static constexpr const char* kAxes[] = {"X", "Y", "Z"};
  for (std::size_t axis = 0; axis < 3; ++axis)
    columns.count(std::string("Grid ") + kAxes[axis], detail([axis](const KernelDetail& d) { return d.grid[axis]; }))
        .if_room(4);
  for (std::size_t axis = 0; axis < 3; ++axis)
    columns.count(std::string("Block ") + kAxes[axis], detail([axis](const KernelDetail& d) { return d.block[axis]; }))
        .if_room(4);
  columns.count("Registers", detail([](const KernelDetail& d) { return d.registers_per_thread; })).if_room(4);
  const auto shared = [](const KernelDetail& d) {
    return std::int64_t{d.static_shared_bytes} + d.dynamic_shared_bytes;
  };
  columns.bytes("Shared", detail(shared)).if_room(4);
}

void add_copy_columns(ColumnsOf<OperationRow>& columns, const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  columns.bytes("Bytes", [&](const OperationRow& row) { return activities.bytes[row.activity]; });
  const auto throughput = [&](const OperationRow& row) {
    const ActivityIndex activity = row.activity;
    return common::gigabytes_per_second(activities.bytes[activity],
                                        activities.end_ns[activity] - activities.begin_ns[activity]);
  };
  columns.decimal("Throughput", "GB/s", 2, throughput).if_room(4);
}

Table instances_of(const ProjectedTimeline& projected, bool (*wanted)(ActivityKind), bool kernels) {
  using Row = OperationRow;
  const Timeline& timeline = projected.timeline();
  const ActivityTable& activities = timeline.activities;
  const Projection& projection = projected.projection();
  const auto begin_ns = [&](const Row& row) { return activities.begin_ns[row.activity]; };
  const auto stream = [&](const Row& row) -> const StreamInfo& {
    return timeline.streams[activities.stream[row.activity]];
  };
  const auto launch_delay = [&](const Row& row) -> std::optional<std::int64_t> {
    const LaunchIndex launch = activities.launch[row.activity];
    if (launch == kNone) return {};
    return begin_ns(row) - timeline.launches.time_ns[launch];
  };
  ColumnsOf<Row> columns(timeline);
  const auto name = [&](const Row& row) { return activities.name[row.activity]; };
  if (kernels)
    columns.kernel("Kernel", name);
  else
    columns.text("Operation", name);
  columns.timestamp("Begin", begin_ns);
  columns.time("Duration", [&](const Row& row) { return activities.end_ns[row.activity] - begin_ns(row); });
  columns.text("Device", [&](const Row& row) { return std::to_string(timeline.devices[stream(row).device].id); })
      .if_room(2);
  columns.count("Stream", [&](const Row& row) { return stream(row).id; }).if_room(1);
  columns.time("Launch delay", launch_delay).if_room(3);
  columns.path("Range", &Row::owner);
  columns.path("Replayed by", &Row::launcher).if_any();
  if (kernels)
    add_kernel_columns(columns, timeline);
  else
    add_copy_columns(columns, timeline);
  common::add_id_of(columns, "Range", &Row::owner);
  common::add_id_of(columns, "Replayed by", &Row::launcher);
  Table table = columns.table();
  RangePaths paths(table, timeline, projection);
  // Who launched what counts where it was captured.
  std::vector<std::uint32_t> launchers;
  if (!projection.place.empty()) launchers = projected.owners_by(Attribution::kLaunch);
  const auto path = [&](std::uint32_t owner) {
    return owner < timeline.ranges.size() ? paths.of(RangeIndex(owner)) : paths.words(unowned_word(owner));
  };
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (!wanted(activities.kind[row])) continue;
    const bool replayed = !launchers.empty() && projection.place[row] != activities.launch[row];
    const Paths::Node owner = path(projection.owner[row]);
    columns.add_row(table, {row, owner, replayed ? path(launchers[row]) : Paths::kNothing});
  }
  return table;
}

}  // namespace

Result<Table> make_kernels(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = OperationGroup;
  if (options.instances) return instances_of(projected, is_computation, true);
  const Timeline& timeline = projected.timeline();
  const std::int64_t all_ns = projected.projection().account.total.gpu_sum_ns;
  const bool bounded = !timeline.conditional_graphs.empty();
  ColumnsOf<Row> columns(timeline);
  columns.kernel("Kernel", &Row::name);
  columns.count("Count", &Row::count).bounded_by(common::conditional_title(bounded));
  columns.time("Total", &Row::total);
  columns.percent("Share", [all_ns](const Row& row) { return common::share(row.total, all_ns); });
  columns.time("Avg", [](const Row& row) { return common::mean(row.total, row.count); });
  columns.time("Min", &Row::min).if_room(2);
  columns.time("Max", &Row::max).if_room(1);
  columns.text("Range", [&](const Row& row) { return main_owner(timeline, row); });
  common::add_conditional(columns, bounded, &Row::conditional);
  return columns.table_of(groups_of(projected, is_computation));
}

Result<Table> make_memcpy(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = OperationGroup;
  if (options.instances) return instances_of(projected, is_movement, false);
  const Timeline& timeline = projected.timeline();
  const bool bounded = !timeline.conditional_graphs.empty();
  const auto throughput = [](const Row& row) { return common::gigabytes_per_second(row.bytes, row.total); };
  ColumnsOf<Row> columns(timeline);
  columns.text("Operation", &Row::name);
  columns.count("Count", &Row::count).bounded_by(common::conditional_title(bounded));
  columns.bytes("Bytes", &Row::bytes);
  columns.time("Total", &Row::total);
  columns.time("Avg", [](const Row& row) { return common::mean(row.total, row.count); }).if_room(1);
  columns.time("Min", &Row::min).if_room(3);
  columns.time("Max", &Row::max).if_room(2);
  columns.decimal("Throughput", "GB/s", 2, throughput);
  columns.text("Range", [&](const Row& row) { return main_owner(timeline, row); });
  common::add_conditional(columns, bounded, &Row::conditional);
  return columns.table_of(groups_of(projected, is_movement));
}

}  // namespace rangefinder::report
