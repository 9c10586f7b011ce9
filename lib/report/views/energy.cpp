// SPDX-License-Identifier: MIT
#include "analysis/energy.hpp"

#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/path_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// `energy`: what devices took while work of ranges ran on them, and how fast their clocks were.
namespace rangefinder::report {
namespace {

using analysis::DeviceEnergy;
using analysis::RangeEnergy;
using common::rounded;

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

/// Nothing in no time.
std::optional<std::int64_t> mean_over(double integral, std::int64_t ns) {
  if (ns <= 0) return {};
  return rounded(integral / static_cast<double>(ns));
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

/// A path with its energy, or the rest, of which nothing else is known.
struct EnergyRow {
  Paths::Node path;
  double total_mj;
  const analysis::RangeGroup* group = nullptr;  ///< null: the rest
  const RangeEnergy* figures = nullptr;

  /// The figures where power is known.
  const RangeEnergy* known() const noexcept { return figures != nullptr && figures->known_ns > 0 ? figures : nullptr; }
  bool any_energy() const noexcept { return figures == nullptr || known() != nullptr; }
};

ColumnsOf<EnergyRow> energy_columns(double all_mj) {
  using Row = EnergyRow;
  const auto of_group = [](auto get) { return [get](const Row& row) { return figure_of(row.group, get); }; };
  const auto of_figures = [](auto get) { return [get](const Row& row) { return figure_of(row.figures, get); }; };
  const auto if_known = [](auto get) { return [get](const Row& row) { return figure_of(row.known(), get); }; };
  const auto millijoules = [](double RangeEnergy::*energy) {
    return [energy](const RangeEnergy& figures) { return rounded(figures.*energy); };
  };
  const auto mean = [](double RangeEnergy::*integral, std::int64_t RangeEnergy::*ns) {
    return [=](const RangeEnergy& figures) { return mean_over(figures.*integral, figures.*ns); };
  };
  const auto energy = [](const Row& row) { return if_that(row.any_energy(), rounded(row.total_mj)); };
  const auto energy_share = [all_mj](const Row& row) { return if_that(row.any_energy(), share(row.total_mj, all_mj)); };
  const auto energy_avg = [](const Row& row) {
    const bool any = row.known() != nullptr && row.group->count != 0;
    return figure_of(any ? row.group : nullptr, [&](const analysis::RangeGroup& group) {
      return rounded(row.total_mj / static_cast<double>(group.count));
    });
  };
  // Millijoules over nanoseconds, in tenths of a watt.
  const auto power = [](const RangeEnergy& figures) { return mean_over(figures.running_mj * 1e7, figures.known_ns); };
  const auto throttled = [](const RangeEnergy& figures) {
    return if_that(figures.throttle_known_ns > 0,
                   share(figures.throttled_ns, static_cast<double>(figures.throttle_known_ns)));
  };
  const auto known = [](const RangeEnergy& figures) {
    return if_that(figures.running_ns > 0, common::share(figures.known_ns, figures.running_ns));
  };
  ColumnsOf<Row> columns;
  columns.path_name("Range", &Row::path);
  columns.count("Count", of_group(&analysis::RangeGroup::count));
  columns.time("GPU busy", of_group([](const analysis::RangeGroup& group) { return group.inclusive.gpu_busy_ns; }));
  columns.decimal("Energy", "J", 3, energy);
  columns.percent("Energy share", energy_share);
  columns.decimal("Self energy", "J", 3, if_known(millijoules(&RangeEnergy::self_mj))).if_room(2);
  columns.decimal("Energy while running", "J", 3, if_known(millijoules(&RangeEnergy::running_mj))).if_room(3);
  columns.decimal("Energy avg", "J", 3, energy_avg).if_room(1);
  columns.decimal("Power", "W", 1, if_known(power));
  columns.count("SM clock MHz", of_figures(mean(&RangeEnergy::sm_clock_mhz_ns, &RangeEnergy::sm_clock_ns))).if_any();
  columns.count("Memory clock MHz", of_figures(mean(&RangeEnergy::memory_clock_mhz_ns, &RangeEnergy::memory_clock_ns)))
      .if_room(4)
      .if_any();
  columns.percent("Throttled", of_figures(throttled)).if_any();
  columns.count("Readings", of_figures(&RangeEnergy::readings)).if_room(5);
  columns.percent("Known", of_figures(known)).if_room(6);
  common::add_path_columns(columns, &Row::path);
  return columns;
}

}  // namespace

Result<Table> make_energy(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  const Projection& projection = projected.projection();
  analysis::Energy energy = analysis::energy_of_ranges(timeline, projection);
  const analysis::PathTree tree = common::tree_of(projected, projection, options);
  const std::vector<GroupEnergy> groups = by_group(tree, energy, projection);
  std::vector<RangeEnergy>().swap(energy.ranges);
  double total_mj = 0, idle_mj = 0, unowned_mj = 0;
  for (const DeviceEnergy& device : energy.devices) {
    total_mj += device.total_mj;
    idle_mj += device.idle_mj;
    unowned_mj += device.unowned_mj;
  }
  const ColumnsOf<EnergyRow> columns = energy_columns(total_mj);
  Table table = columns.table();
  common::add_paths(table, timeline, tree);
  for (const std::uint32_t group : tree.order)
    columns.add_row(table, {group, groups[group].total_mj, &tree.groups[group], &groups[group].figures});
  if (!energy.devices.empty()) {
    const auto add_rest = [&](std::string_view words, double millijoules) {
      columns.add_row(table, {table.paths().add(Paths::kNothing, 0, words), millijoules});
    };
    add_rest("[outside ranges]", unowned_mj);
    add_rest("[idle]", idle_mj);
  }
  for (const DeviceEnergy& device : energy.devices) note_device(table, timeline, device);
  note_unknown_boards(table, timeline, energy);
  return table;
}

}  // namespace rangefinder::report
