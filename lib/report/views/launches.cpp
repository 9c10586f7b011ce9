// SPDX-License-Identifier: MIT
#include "report/views/launches.hpp"

#include "analysis/occupancy.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"

#include <cstdint>
#include <optional>
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

struct LaunchRow {
  const LaunchConfiguration& launched;
  const DeviceInfo& device;
  std::optional<analysis::Occupancy> occupancy;

  const KernelDetail& detail() const noexcept { return launched.detail; }
};

}  // namespace

Result<Table> make_launches(const ProjectedTimeline& projected, const ViewOptions&) {
  analysis::LaunchConfigurations configurations;
  configurations.add(projected.timeline());
  return table_of_launches(projected.timeline(), configurations);
}

Table table_of_launches(const Timeline& timeline, const analysis::LaunchConfigurations& configurations) {
  using Row = LaunchRow;
  using analysis::Spread;
  const auto median = [](Spread LaunchConfiguration::*spread) {
    return [spread](const Row& row) {
      const Spread& waits = row.launched.*spread;
      return figure_of(waits.count != 0 ? &waits : nullptr, [](const Spread& all) { return all.median(0); });
    };
  };
  const auto max = [](Spread LaunchConfiguration::*spread) {
    return [spread](const Row& row) { return if_that((row.launched.*spread).count != 0, (row.launched.*spread).max); };
  };
  const auto shared = [](const Row& row) {
    return std::int64_t{row.detail().static_shared_bytes} + row.detail().dynamic_shared_bytes;
  };
  const auto local = [](const Row& row) {
    return if_that(row.detail().local_bytes_per_thread != 0, row.detail().local_bytes_per_thread);
  };
  const auto occupancy = [](const Row& row) {
    return figure_of(row.occupancy ? &*row.occupancy : nullptr, &analysis::Occupancy::permille);
  };
  const auto limit = [](const Row& row) {
    return row.occupancy ? analysis::limit_text(row.occupancy->limit) : std::string_view();
  };
  const auto achieved = [](const Row& row) { return analysis::achieved_percent(row.device, row.detail()); };
  ColumnsOf<Row> columns(timeline);
  columns.kernel("Kernel", [](const Row& row) { return row.launched.kernel; });
  columns.count("Count", [](const Row& row) { return row.launched.count; });
  columns.time("Total", [](const Row& row) { return row.launched.total_ns; });
  columns.count("Device", [](const Row& row) { return row.device.id; }).for_programs();
  columns.text("Grid", [](const Row& row) { return size_text(row.detail().grid); });
  columns.text("Block", [](const Row& row) { return size_text(row.detail().block); });
  columns.text("Cluster", [](const Row& row) { return cluster_text(row.detail()); }).for_programs();
  columns.count("Registers", [](const Row& row) { return row.detail().registers_per_thread; }).if_room(4);
  columns.bytes("Shared", shared).if_room(4);
  columns.bytes("Local a thread", local).if_room(5).if_any();
  columns.text("Launch", [](const Row& row) { return launch_text(row.detail().launch_type); }).if_room(4).if_any();
  columns.percent("Occupancy", occupancy);
  columns.decimal("Achieved est.", "%", 0, achieved).if_room(6);
  columns.text("Limit", limit).if_room(3);
  columns.decimal("Waves", "", 2, [](const Row& row) { return analysis::waves_of(row.device, row.detail()); })
      .if_room(2);
  columns.time("Launch delay median", median(&LaunchConfiguration::delay)).if_room(3);
  columns.time("Launch delay max", max(&LaunchConfiguration::delay)).if_room(7);
  columns.time("Queue median", median(&LaunchConfiguration::queue)).if_room(6);
  columns.time("Queue max", max(&LaunchConfiguration::queue)).if_room(7);
  columns.time("Command buffer median", median(&LaunchConfiguration::command_buffer)).if_room(8).if_any();
  columns.time("Command buffer max", max(&LaunchConfiguration::command_buffer)).if_room(8).if_any();
  columns.time("On device queue median", median(&LaunchConfiguration::device_queue)).if_room(8).if_any();
  columns.time("On device queue max", max(&LaunchConfiguration::device_queue)).if_room(8).if_any();
  columns.count("In graphs", [](const Row& row) { return row.launched.in_graphs; }).if_room(5).if_any();
  Table table = columns.table();
  bool unknown_device = false;
  for (const LaunchConfiguration& launched : configurations.rows(timeline)) {
    const DeviceInfo& device = timeline.devices[launched.device];
    const auto known = analysis::occupancy_of(device, launched.detail);
    columns.add_row(table, {launched, device, known});
    unknown_device = unknown_device || !known;
  }
  if (unknown_device)
    table.note("launches: no occupancy for kernels whose device properties or block size are missing or invalid");
  return table;
}

}  // namespace rangefinder::report
