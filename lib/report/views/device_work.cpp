// SPDX-License-Identifier: MIT
#include "report/view.hpp"
#include "report/views/own_columns.hpp"
#include "report/views/places.hpp"
#include "report/views/range_paths.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
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

std::vector<OperationGroup> groups_of(const Subject& subject, bool (*wanted)(ActivityKind)) {
  const Timeline& timeline = subject.timeline();
  const ActivityTable& activities = timeline.activities;
  const Projection& projection = subject.projection();
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

std::string device_label(const Timeline& timeline, StreamIndex stream) {
  return std::to_string(timeline.devices[timeline.streams[stream].device].id);
}

Table instances_of(const Subject& subject, bool (*wanted)(ActivityKind), bool kernels) {
  const Timeline& timeline = subject.timeline();
  const ActivityTable& activities = timeline.activities;
  std::vector<Column> columns = {kernels ? own::kernel("Kernel") : own::text("Operation"),
                                 own::timestamp("Begin"),
                                 own::time("Duration"),
                                 own::if_room(2, own::text("Device")),
                                 own::if_room(1, own::count("Stream")),
                                 own::if_room(3, own::time("Launch delay")),
                                 own::path("Range"),
                                 own::if_any(own::path("Replayed by"))};
  if (kernels) {
    for (const char* name : {"Grid X", "Grid Y", "Grid Z", "Block X", "Block Y", "Block Z", "Registers"})
      columns.push_back(own::if_room(4, own::count(name)));
    columns.push_back(own::if_room(4, own::bytes("Shared")));
  } else {
    columns.push_back(own::bytes("Bytes"));
    columns.push_back(own::if_room(4, own::decimal("Throughput", "GB/s", 2)));
  }
  columns.push_back(own::id_of("Range"));
  columns.push_back(own::id_of("Replayed by"));
  Table table(std::move(columns));
  RangePaths paths(table, timeline, subject.projection());
  const Projection& projection = subject.projection();
  // Who launched what counts where it was captured.
  std::vector<std::uint32_t> launchers;
  if (!projection.place.empty()) launchers = subject.owners_by(Attribution::kLaunch);
  const auto path = [&](std::uint32_t owner) {
    return owner < timeline.ranges.size() ? paths.of(RangeIndex(owner)) : paths.words(unowned_word(owner));
  };
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (!wanted(activities.kind[row])) continue;
    const LaunchIndex launch = activities.launch[row];
    const std::int64_t duration = activities.end_ns[row] - activities.begin_ns[row];
    const bool replayed = !launchers.empty() && projection.place[row] != launch;
    const Paths::Node owner = path(projection.owner[row]);
    const Paths::Node launcher = replayed ? path(launchers[row]) : Paths::kNothing;
    table.text(timeline, activities.name[row])
        .number(activities.begin_ns[row])
        .number(duration)
        .text(device_label(timeline, activities.stream[row]))
        .number(timeline.streams[activities.stream[row]].id)
        .optional(launch != kNone, launch != kNone ? activities.begin_ns[row] - timeline.launches.time_ns[launch] : 0)
        .path(owner)
        .optional(replayed, launcher);
    if (kernels) {
      const bool known = activities.detail[row] != kNone;
      const KernelDetail detail = known ? timeline.kernel_details[activities.detail[row]] : KernelDetail{};
      for (const std::uint32_t value : detail.grid) table.optional(known, value);
      for (const std::uint32_t value : detail.block) table.optional(known, value);
      table.optional(known, detail.registers_per_thread)
          .optional(known, static_cast<std::int64_t>(detail.static_shared_bytes) + detail.dynamic_shared_bytes);
    } else {
      const auto bytes = static_cast<std::int64_t>(activities.bytes[row]);
      // Bytes a nanosecond are gigabytes a second.
      table.number(bytes).optional(
          duration > 0, duration > 0 ? static_cast<std::int64_t>(static_cast<__int128>(bytes) * 100 / duration) : 0);
    }
    own::add_id(table, owner);
    own::add_id(table, launcher);
  }
  return table;
}

Result<Table> make_kernels(const Subject& subject, const ViewOptions& options) {
  if (options.instances) return instances_of(subject, is_computation, true);
  const Account& account = subject.projection().account;
  const bool bounded = !subject.timeline().conditional_graphs.empty();
  std::vector<Column> columns{own::kernel("Kernel"),
                              own::may_be_more(bounded, own::count("Count")),
                              own::time("Total"),
                              own::percent("Share"),
                              own::time("Avg"),
                              own::if_room(2, own::time("Min")),
                              own::if_room(1, own::time("Max")),
                              own::text("Range")};
  own::add_bound_column(columns, bounded);
  Table table(std::move(columns));
  for (const OperationGroup& group : groups_of(subject, is_computation)) {
    table.text(subject.timeline().text(group.name))
        .number(static_cast<std::int64_t>(group.count))
        .number(group.total)
        .number(own::share(group.total, account.total.gpu_sum_ns))
        .number(own::mean(group.total, group.count))
        .number(group.min)
        .number(group.max)
        .text(main_owner(subject.timeline(), group));
    own::add_bound(table, bounded, group.conditional);
  }
  return table;
}

Result<Table> make_memcpy(const Subject& subject, const ViewOptions& options) {
  if (options.instances) return instances_of(subject, is_movement, false);
  const bool bounded = !subject.timeline().conditional_graphs.empty();
  std::vector<Column> columns{own::text("Operation"),
                              own::may_be_more(bounded, own::count("Count")),
                              own::bytes("Bytes"),
                              own::time("Total"),
                              own::if_room(1, own::time("Avg")),
                              own::if_room(3, own::time("Min")),
                              own::if_room(2, own::time("Max")),
                              own::decimal("Throughput", "GB/s", 2),
                              own::text("Range")};
  own::add_bound_column(columns, bounded);
  Table table(std::move(columns));
  for (const OperationGroup& group : groups_of(subject, is_movement)) {
    table.text(subject.timeline().text(group.name))
        .number(static_cast<std::int64_t>(group.count))
        .number(static_cast<std::int64_t>(group.bytes))
        .number(group.total)
        .number(own::mean(group.total, group.count))
        .number(group.min)
        .number(group.max)
        .optional(
            group.total > 0,
            group.total > 0 ? static_cast<std::int64_t>(static_cast<__int128>(group.bytes) * 100 / group.total) : 0)
        .text(main_owner(subject.timeline(), group));
    own::add_bound(table, bounded, group.conditional);
  }
  return table;
}

}  // namespace

namespace views_list {
extern const View kernels{
    "kernels",   "Kernels by name, and the ranges that own them (--instances: each)", kNeedsActivities, {}, false,
    make_kernels};
extern const View memcpy{
    "memcpy",   "Copies and memsets by direction, with throughput (--instances: each)", kNeedsActivities, {}, false,
    make_memcpy};
}  // namespace views_list

}  // namespace rangefinder::report
