// SPDX-License-Identifier: MIT
#include "analysis/launch_configurations.hpp"
#include "analysis/occupancy.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"

#include <string>
#include <string_view>

// `launches`: how kernels are launched, how full that can make the device, and how long they wait to begin.
namespace rangefinder::report {
namespace {

using analysis::LaunchConfiguration;

/// "132x1x1"; nothing where the input does not say.
std::string size_text(const std::uint32_t (&size)[3]) {
  if (size[0] == 0) return {};
  return std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
}

/// Kineto's traces leave clusters out of which each is a block.
std::string cluster_text(const KernelDetail& detail) {
  const bool is_one = detail.cluster[0] <= 1 && detail.cluster[1] <= 1 && detail.cluster[2] <= 1;
  return is_one ? std::string() : size_text(detail.cluster);
}

/// CUPTI's launch types: 0 is the usual one.
std::string_view launch_text(std::uint32_t type) noexcept {
  return type == 1 ? "cooperative" : type == 2 ? "cooperative, several devices" : "";
}

void add_spread(Table& table, const analysis::Spread& spread) {
  const bool any = spread.count != 0;
  table.optional(any, any ? spread.median(0) : 0).optional(any, spread.max);
}

void add_row(Table& table, const Timeline& timeline, const LaunchConfiguration& row) {
  const DeviceInfo& device = timeline.devices[row.device];
  const KernelDetail& detail = row.detail;
  const auto occupancy = analysis::occupancy_of(device, detail);
  const auto achieved = analysis::achieved_percent(device, detail);
  const auto waves = analysis::waves_of(device, detail);
  table.text(timeline, row.kernel)
      .number(static_cast<std::int64_t>(row.count))
      .number(row.total_ns)
      .number(device.id)
      .text(size_text(detail.grid))
      .text(size_text(detail.block))
      .text(cluster_text(detail))
      .number(detail.registers_per_thread)
      .number(static_cast<std::int64_t>(detail.static_shared_bytes) + detail.dynamic_shared_bytes)
      .optional(detail.local_bytes_per_thread != 0, detail.local_bytes_per_thread)
      .text(launch_text(detail.launch_type))
      .optional(occupancy.has_value(), occupancy ? occupancy->permille() : 0)
      .optional(achieved.has_value(), achieved.value_or(0))
      .text(occupancy ? analysis::limit_text(occupancy->limit) : std::string_view())
      .optional(waves.has_value(), waves.value_or(0));
  add_spread(table, row.delay);
  add_spread(table, row.queue);
  add_spread(table, row.command_buffer);
  add_spread(table, row.device_queue);
  table.number(static_cast<std::int64_t>(row.in_graphs));
}

Result<Table> make_launches(const Subject& subject, const ViewOptions&) {
  const Timeline& timeline = subject.timeline();
  using namespace own;
  Table table({kernel("Kernel"),
               count("Count"),
               time("Total"),
               for_programs(count("Device")),
               text("Grid"),
               text("Block"),
               for_programs(text("Cluster")),
               if_room(4, count("Registers")),
               if_room(4, bytes("Shared")),
               if_room(5, if_any(bytes("Local a thread"))),
               if_room(4, if_any(text("Launch"))),
               own::percent("Occupancy"),
               if_room(6, decimal("Achieved est.", "%", 0)),
               if_room(3, text("Limit")),
               if_room(2, decimal("Waves", "", 2)),
               if_room(3, time("Launch delay median")),
               if_room(7, time("Launch delay max")),
               if_room(6, time("Queue median")),
               if_room(7, time("Queue max")),
               if_room(8, if_any(time("Command buffer median"))),
               if_room(8, if_any(time("Command buffer max"))),
               if_room(8, if_any(time("On device queue median"))),
               if_room(8, if_any(time("On device queue max"))),
               if_any(if_room(5, count("In graphs")))});
  bool unknown_device = false;
  for (const LaunchConfiguration& row : analysis::launch_configurations(timeline)) {
    add_row(table, timeline, row);
    unknown_device = unknown_device || !analysis::occupancy_of(timeline.devices[row.device], row.detail);
  }
  if (unknown_device)
    table.note("launches: no occupancy for kernels whose device properties or block size are missing or invalid");
  return table;
}

}  // namespace

namespace views_list {
extern const View launches{
    "launches",    "Kernels by launch configuration: occupancy and its limit, waves, launch delay, queue time",
    kNeedsKernels, {},
    false,         make_launches};
}  // namespace views_list

}  // namespace rangefinder::report
