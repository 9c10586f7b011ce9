// SPDX-License-Identifier: MIT
#include "analysis/nsight/api.hpp"
#include "report/view.hpp"
#include "report/views/nsight_columns.hpp"

#include <cstdio>

namespace rangefinder::report {
namespace {

using namespace report::nsight;
using analysis::nsight::Labels;

std::string padded_size(const std::uint32_t (&size)[3]) {
  char text[48];
  const int length = std::snprintf(text, sizeof text, "%4u %4u %4u", size[0], size[1], size[2]);
  return {text, static_cast<std::size_t>(length)};
}

Result<Table> make_kern_exec_trace(const Subject& subject, const ViewOptions& options) {
  const Timeline& timeline = subject.timeline();
  constexpr std::size_t kKernelName = 13;
  Table table(
      {timestamp_column("API Start"), time_column("API Dur"), timestamp_column("Queue Start"), time_column("Queue Dur"),
       timestamp_column("Kernel Start"), time_column("Kernel Dur"), time_column("Total Dur"), count_column("PID"),
       count_column("TID"), count_column("DevId"), text_column("API Function"), text_column("GridXYZ"),
       text_column("BlockXYZ"), kernel_column("Kernel Name", options.kernel_naming.innermost_range)},
      kKernelName);
  Labels labels(timeline);
  const auto names = analysis::nsight::activity_labels(timeline, options.kernel_naming, labels);
  const CallTable& calls = timeline.calls;
  const ActivityTable& activities = timeline.activities;
  for (const analysis::nsight::KernelExecution& execution : analysis::nsight::kernel_executions(timeline)) {
    const ActivityIndex kernel = execution.kernel;
    const CallIndex call = execution.call;
    const bool queued = execution.queue_ns >= 0;
    const std::uint32_t row = activities.detail[kernel];
    const KernelDetail detail = row < timeline.kernel_details.size() ? timeline.kernel_details[row] : KernelDetail{};
    table.number(calls.begin_ns[call])
        .number(calls.end_ns[call] - calls.begin_ns[call])
        .optional(queued, calls.end_ns[call])
        .optional(queued, execution.queue_ns)
        .number(activities.begin_ns[kernel])
        .number(activities.end_ns[kernel] - activities.begin_ns[kernel])
        .number(execution.total_ns);
    add_thread(table, timeline, calls.thread[call])
        .number(timeline.devices[timeline.streams[activities.stream[kernel]].device].id)
        .text(labels.text(labels.call(call)))
        .text(padded_size(detail.grid))
        .text(padded_size(detail.block))
        .text(labels.text(names[kernel]));
  }
  return table;
}

Result<Table> make_kern_exec_sum(const Subject& subject, const ViewOptions& options) {
  const Timeline& timeline = subject.timeline();
  std::vector<Column> columns{count_column("PID"), count_column("TID"), count_column("DevId"), count_column("Count"),
                              count_column("QCount")};
  for (const char* prefix : {"T", "A", "Q", "K"}) columns = joined(std::move(columns), spread_columns(prefix));
  columns = joined(std::move(columns),
                   {text_column("API Name"), kernel_column("Kernel Name", options.kernel_naming.innermost_range)});
  const std::size_t name_column = columns.size() - 1;
  Table table(std::move(columns), name_column);
  Labels labels(timeline);
  for (const auto& row : analysis::nsight::kernel_execution_sum(timeline, options.kernel_naming, labels)) {
    add_thread(table, timeline, row.thread)
        .number(timeline.devices[row.device].id)
        .number(static_cast<std::int64_t>(row.total.count))
        .number(static_cast<std::int64_t>(row.queue.count));
    for (const analysis::Spread* spread : {&row.total, &row.api, &row.queue, &row.duration}) add_spread(table, *spread);
    add_label(table, labels, row.call).text(labels.text(row.kernel));
  }
  return table;
}

}  // namespace

namespace views_list {

extern const View cuda_kern_exec_sum, cuda_kern_exec_trace;
const View cuda_kern_exec_sum{"cuda_kern_exec_sum",
                              "kernels with the calls that launched them, by name: API, queue, device",
                              kNeedsActivities | kNeedsCalls,
                              "base mangled nvtx-name",
                              true,
                              make_kern_exec_sum};
const View cuda_kern_exec_trace{"cuda_kern_exec_trace",
                                "every kernel with the call that launched it: API, queue, device",
                                kNeedsActivities | kNeedsCalls,
                                "base mangled nvtx-name",
                                true,
                                make_kern_exec_trace};

}  // namespace views_list
}  // namespace rangefinder::report
