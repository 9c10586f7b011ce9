// SPDX-License-Identifier: MIT
#include "analysis/nsight/api.hpp"
#include "report/nsight/columns.hpp"
#include "report/view.hpp"

#include <cstdio>
#include <optional>
#include <string>

namespace rangefinder::report::nsight {
namespace {

using analysis::nsight::KernelExecution;

std::string padded_size(const std::uint32_t (&size)[3]) {
  char text[48];
  const int length = std::snprintf(text, sizeof text, "%4u %4u %4u", size[0], size[1], size[2]);
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace

Result<Table> make_cuda_kern_exec_trace(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = KernelExecution;
  const Timeline& timeline = projected.timeline();
  const CallTable& calls = timeline.calls;
  const ActivityTable& activities = timeline.activities;
  const analysis::nsight::KernelNaming naming = naming_of(options);
  Labels labels(timeline);
  const auto names = analysis::nsight::activity_labels(timeline, naming, labels);
  const auto if_queued = [](auto get) {
    return [get](const Row& row) { return row.queue_ns >= 0 ? std::optional(get(row)) : std::nullopt; };
  };
  const auto call_ends = [&](const Row& row) { return calls.end_ns[row.call]; };
  const auto kernel_time = [&](const Row& row) {
    return activities.end_ns[row.kernel] - activities.begin_ns[row.kernel];
  };
  const auto device = [&](const Row& row) {
    return timeline.devices[timeline.streams[activities.stream[row.kernel]].device].id;
  };
  const auto size = [&](const std::uint32_t(KernelDetail::*which)[3]) {
    return [&timeline, which](const Row& row) {
      static constexpr KernelDetail kNone;
      const std::uint32_t number = timeline.activities.detail[row.kernel];
      const KernelDetail& detail = number < timeline.kernel_details.size() ? timeline.kernel_details[number] : kNone;
      return padded_size(detail.*which);
    };
  };
  ColumnsOf<Row> columns(timeline);
  columns.timestamp("API Start", [&](const Row& row) { return calls.begin_ns[row.call]; });
  columns.time("API Dur", [&](const Row& row) { return calls.end_ns[row.call] - calls.begin_ns[row.call]; });
  columns.timestamp("Queue Start", if_queued(call_ends));
  columns.time("Queue Dur", if_queued([](const Row& row) { return row.queue_ns; }));
  columns.timestamp("Kernel Start", [&](const Row& row) { return activities.begin_ns[row.kernel]; });
  columns.time("Kernel Dur", kernel_time);
  columns.time("Total Dur", &Row::total_ns);
  add_thread(columns, timeline, [&](const Row& row) { return calls.thread[row.call]; });
  columns.count("DevId", device);
  columns.text("API Function", [&](const Row& row) { return text_of(labels, labels.call(row.call)); });
  columns.text("GridXYZ", size(&KernelDetail::grid));
  columns.text("BlockXYZ", size(&KernelDetail::block));
  add_kernel(columns, "Kernel Name", naming, [&](const Row& row) {
    return text_of(labels, names[row.kernel]);
  }).naming_rows();
  return columns.table_of(analysis::nsight::kernel_executions(timeline));
}

}  // namespace rangefinder::report::nsight
