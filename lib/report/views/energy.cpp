// SPDX-License-Identifier: MIT
#include "analysis/energy.hpp"

#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"
#include "report/views/path_rows.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

// `energy`: what devices took while work of ranges ran on them, and how fast their clocks were.
namespace rangefinder::report {
namespace {

using analysis::DeviceEnergy;
using analysis::RangeEnergy;
using own::rounded;

/// By group: figures of its ranges, and their own energy with that of all groups inside.
struct GroupEnergy {
  RangeEnergy figures;
  double total_mj = 0;
};

std::vector<GroupEnergy> by_group(const analysis::PathTree& tree, const analysis::Energy& energy,
                                  const Projection& projection) {
  std::vector<GroupEnergy> groups(tree.groups.size());
  for (RangeIndex range{0}; range < energy.ranges.size(); ++range) {
    const std::uint32_t group = tree.group_of[range];
    if (group == kNone) continue;
    // A range that was cut off counts what is its own where it was cut, and all else is there already.
    const bool cut = projection.depth[range] > tree.groups[group].depth;
    if (cut)
      groups[group].figures.self_mj += energy.ranges[range].self_mj;
    else
      groups[group].figures += energy.ranges[range];
  }
  for (std::uint32_t group = static_cast<std::uint32_t>(groups.size()); group-- > 0;) {  // parents come before children
    groups[group].total_mj += groups[group].figures.self_mj;
    if (tree.groups[group].parent != kNone) groups[tree.groups[group].parent].total_mj += groups[group].total_mj;
  }
  return groups;
}

/// Of the whole: tenths of a percent.
std::int64_t share(double part, double whole) { return whole > 0 ? rounded(part / whole * 1000) : 0; }

void add_mean(Table& table, double integral, std::int64_t ns) {
  table.optional(ns > 0, ns > 0 ? rounded(integral / static_cast<double>(ns)) : 0);
}

std::string joules(double millijoules) {
  char text[48];
  std::snprintf(text, sizeof text, "%.3f J", millijoules / 1000);
  return text;
}

/// "device 0", in a job "device 0 of rank 3".
std::string name_of(const Timeline& timeline, const DeviceEnergy& device) {
  const DeviceInfo& info = timeline.devices[device.device];
  std::string name = "device " + std::to_string(info.id);
  if (timeline.processes.size() > 1 && info.process < timeline.processes.size()) {
    const ProcessInfo& process = timeline.processes[info.process];
    name +=
        process.rank >= 0 ? " of rank " + std::to_string(process.rank) : " of process " + std::to_string(process.pid);
  }
  if (device.devices > 1) name += " and " + std::to_string(device.devices - 1) + " more on the same board";
  return name + ": ";
}

void note_device(Table& table, const Timeline& timeline, const DeviceEnergy& device) {
  const std::string name = name_of(timeline, device);
  char rate[64];
  std::snprintf(
      rate, sizeof rate, "%.1f ms",
      static_cast<double>(device.known_ns) / 1e6 / static_cast<double>(device.readings > 1 ? device.readings - 1 : 1));
  table.note(name + joules(device.total_mj) + " over " + base::with_thousands(device.readings) +
             " power readings, one per " + rate + "; for shorter ranges power is interpolated");
  if (device.check)
    table.note(name + "the board's energy counter says " + joules(device.check->counter_mj) +
               ", the readings add up to " + joules(device.check->integral_mj));
  if (device.power_is_mean)
    table.note(name + "the driver reports power as a mean over about a second: shorter ranges are not resolved");
  if (timeline.devices[device.device].mig)
    table.note(name + "a MIG instance: power is that of the whole board, including other instances");
}

/// Processes of a job may have read the sensors of one board.
void note_unknown_boards(Table& table, const Timeline& timeline, const analysis::Energy& energy) {
  const bool unknown = std::any_of(energy.devices.begin(), energy.devices.end(), [&](const DeviceEnergy& device) {
    return timeline.devices[device.device].board.empty();
  });
  if (timeline.processes.size() > 1 && unknown)
    table.note(
        "some captures do not identify their boards: a board that several processes read is counted several times");
}

void add_rest(Table& table, const char* name, double millijoules, double total_mj) {
  const Paths::Node words = table.paths().add(Paths::kNothing, 0, name);
  table.path(words).null().null().number(rounded(millijoules)).number(share(millijoules, total_mj));
  for (int i = 0; i < 9; ++i) table.null();
  own::add_path(table, words);
}

Result<Table> make_energy(const Subject& subject, const ViewOptions& options) {
  using own::if_any;
  using own::if_room;
  const Timeline& timeline = subject.timeline();
  const Projection& projection = subject.projection();
  analysis::Energy energy = analysis::energy_of_ranges(timeline, projection);
  const analysis::PathTree tree = analysis::range_tree(timeline, projection, subject.projection_options(),
                                                       own::folding_of(options), analysis::HostSpread::kNotWanted);
  const std::vector<GroupEnergy> groups = by_group(tree, energy, projection);
  std::vector<RangeEnergy>().swap(energy.ranges);
  double total_mj = 0, idle_mj = 0, unowned_mj = 0;
  for (const DeviceEnergy& device : energy.devices) {
    total_mj += device.total_mj;
    idle_mj += device.idle_mj;
    unowned_mj += device.unowned_mj;
  }
  std::vector<Column> columns{own::path_name("Range"),
                              own::count("Count"),
                              own::time("GPU busy"),
                              own::decimal("Energy", "J", 3),
                              own::percent("Energy share"),
                              if_room(2, own::decimal("Self energy", "J", 3)),
                              if_room(3, own::decimal("Energy while running", "J", 3)),
                              if_room(1, own::decimal("Energy avg", "J", 3)),
                              own::decimal("Power", "W", 1),
                              if_any(own::count("SM clock MHz")),
                              if_room(4, if_any(own::count("Memory clock MHz"))),
                              if_any(own::percent("Throttled")),
                              if_room(5, own::count("Readings")),
                              if_room(6, own::percent("Known"))};
  own::add_path_columns(columns);
  Table table(std::move(columns));
  own::add_paths(table, timeline, tree);
  for (const std::uint32_t group : tree.order) {
    const RangeEnergy& figures = groups[group].figures;
    const bool any = figures.known_ns > 0;
    const auto count = static_cast<double>(tree.groups[group].count);
    table.path(group)
        .number(static_cast<std::int64_t>(tree.groups[group].count))
        .number(tree.groups[group].inclusive.gpu_busy_ns)
        .optional(any, rounded(groups[group].total_mj))
        .optional(any, share(groups[group].total_mj, total_mj))
        .optional(any, rounded(figures.self_mj))
        .optional(any, rounded(figures.running_mj))
        .optional(any && count > 0, any && count > 0 ? rounded(groups[group].total_mj / count) : 0)
        // Millijoules over nanoseconds, in tenths of a watt.
        .optional(any, any ? rounded(figures.running_mj * 1e7 / static_cast<double>(figures.known_ns)) : 0);
    add_mean(table, figures.sm_clock_mhz_ns, figures.sm_clock_ns);
    add_mean(table, figures.memory_clock_mhz_ns, figures.memory_clock_ns);
    table.optional(figures.throttle_known_ns > 0,
                   share(figures.throttled_ns, static_cast<double>(figures.throttle_known_ns)));
    table.number(figures.readings).optional(figures.running_ns > 0, own::share(figures.known_ns, figures.running_ns));
    own::add_path(table, group);
  }
  if (!energy.devices.empty()) {
    add_rest(table, "[outside ranges]", unowned_mj, total_mj);
    add_rest(table, "[idle]", idle_mj, total_mj);
  }
  for (const DeviceEnergy& device : energy.devices) note_device(table, timeline, device);
  note_unknown_boards(table, timeline, energy);
  return table;
}

}  // namespace

namespace views_list {
extern const View energy{"energy",
                         "Energy of devices per path, with power and clocks while the work ran",
                         kNeedsRanges | kNeedsActivities | kNeedsDeviceSamples,
                         {},
                         false,
                         make_energy};
}  // namespace views_list

}  // namespace rangefinder::report
