// SPDX-License-Identifier: MIT
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/operation_totals.hpp"
#include "report/views/places.hpp"
#include "report/views/range_paths.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// `kernels` and `memcpy`: device activities by name, or each one, with the range that owns them.
namespace rangefinder::report {
namespace {

bool is_computation(ActivityKind kind) { return !is_copy(kind); }
bool is_movement(ActivityKind kind) { return is_copy(kind); }

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

std::vector<ActivityIndex> by_begin(const ActivityTable& activities, bool (*wanted)(ActivityKind)) {
  std::vector<ActivityIndex> order;
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    if (wanted(activities.kind[row])) order.push_back(row);
  const auto before = [&](ActivityIndex a, ActivityIndex b) { return activities.begin_ns[a] < activities.begin_ns[b]; };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::stable_sort(order.begin(), order.end(), before);
  return order;
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
  RangePaths paths(table, projected);
  // Who launched what counts where it was captured.
  std::vector<std::uint32_t> launchers;
  if (!projection.place.empty()) launchers = projected.owners_by(Attribution::kLaunch);
  const auto path = [&](std::uint32_t owner) {
    return owner < timeline.ranges.size() ? paths.of(RangeIndex(owner)) : paths.words(unowned_word(owner));
  };
  for (const ActivityIndex row : by_begin(activities, wanted)) {
    const bool replayed = !launchers.empty() && projection.place[row] != activities.launch[row];
    const Paths::Node owner = path(projection.owner[row]);
    columns.add_row(table, {row, owner, replayed ? path(launchers[row]) : Paths::kNothing});
  }
  return table;
}

Table by_name(const ProjectedTimeline& projected, OperationTotals::Kind kind) {
  const Timeline& timeline = projected.timeline();
  analysis::RecordingFacts facts;
  facts.add(projection::WindowRows::whole(timeline, projected.projection()));
  OperationTotals totals(kind);
  totals.add(timeline, projected.projection());
  return totals.table({timeline, facts});
}

}  // namespace

Result<Table> make_kernels(const ProjectedTimeline& projected, const ViewOptions& options) {
  if (options.instances) return instances_of(projected, is_computation, true);
  return by_name(projected, OperationTotals::Kind::kKernels);
}

Result<Table> make_memcpy(const ProjectedTimeline& projected, const ViewOptions& options) {
  if (options.instances) return instances_of(projected, is_movement, false);
  return by_name(projected, OperationTotals::Kind::kCopies);
}

}  // namespace rangefinder::report
