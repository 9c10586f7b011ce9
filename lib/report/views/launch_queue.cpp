// SPDX-License-Identifier: MIT
#include "analysis/launch_queue.hpp"

#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// `launch_queue`: how far the host is ahead of the device: queues of streams over time, and how long launches take. By
// range: which ranges launch to an idle stream.
namespace rangefinder::report {
namespace {

using analysis::LaunchQueueRow;
using analysis::LaunchWaits;
using analysis::RangeLaunches;

/// Columns of what streams and ranges have in common.
template <typename Row>
void add_waits(ColumnsOf<Row>& columns, LaunchWaits Row::*waits) {
  const auto figure = [waits](auto get) {
    return [waits, get](const Row& row) { return std::invoke(get, row.*waits); };
  };
  const auto latency = [waits](analysis::Percentiles LaunchWaits::*of, std::int64_t analysis::Percentiles::*percentile,
                               bool idle) {
    return [=](const Row& row) {
      const LaunchWaits& all = row.*waits;
      const bool any = idle ? all.on_idle_stream != 0 : all.on_idle_stream != all.launches;
      return if_that(any, all.*of.*percentile);
    };
  };
  columns.percent("Host-bound", figure([](const LaunchWaits& all) {
                    return common::share(static_cast<std::int64_t>(all.on_idle_stream),
                                         static_cast<std::int64_t>(all.launches));
                  }));
  using analysis::Percentiles;
  columns.time("Latency idle p50", latency(&LaunchWaits::latency_idle, &Percentiles::p50, true)).if_room(1);
  columns.time("Latency idle p95", latency(&LaunchWaits::latency_idle, &Percentiles::p95, true)).if_room(3);
  columns.time("Latency queued p50", latency(&LaunchWaits::latency_queued, &Percentiles::p50, false)).if_room(2);
  columns.time("Latency queued p95", latency(&LaunchWaits::latency_queued, &Percentiles::p95, false)).if_room(4);
  columns.count("Shorter than launch", figure(&LaunchWaits::shorter_than_call)).if_room(5);
  columns
      .percent("Shorter share", figure([](const LaunchWaits& all) {
                 return if_that(all.kernels != 0, common::share(static_cast<std::int64_t>(all.shorter_than_call),
                                                                static_cast<std::int64_t>(all.kernels)));
               }))
      .if_room(6);
  columns.time("Kernel avg", figure([](const LaunchWaits& all) { return common::mean(all.kernel_ns, all.kernels); }))
      .if_room(7);
  columns.time("Launch call avg", figure([](const LaunchWaits& all) { return common::mean(all.call_ns, all.kernels); }))
      .if_room(7);
}

Table table_of_streams(const Timeline& timeline) {
  using Row = LaunchQueueRow;
  const auto length = [](auto member) { return [member](const Row& row) { return row.lengths.*member; }; };
  const auto share = [](std::int64_t analysis::QueueLengths::*part) {
    return [part](const Row& row) { return common::share(row.lengths.*part, row.lengths.total_ns); };
  };
  using analysis::QueueLengths;
  const auto stream = [&](const Row& row) {
    return if_that(row.stream != kNone, row.stream != kNone ? timeline.streams[row.stream].id : 0);
  };
  ColumnsOf<Row> columns;
  columns.text("Device", [&](const Row& row) { return std::to_string(timeline.devices[row.device].id); });
  columns.count("Stream", stream);
  columns.count("Launches", [](const Row& row) { return row.waits.launches; });
  columns.decimal("Queue mean", "", 2, length(&QueueLengths::mean_hundredths));
  columns.count("Queue p50", length(&QueueLengths::p50)).if_room(3);
  columns.count("Queue p95", length(&QueueLengths::p95)).if_room(2);
  columns.count("Queue max", length(&QueueLengths::max)).if_room(4);
  columns.percent("Empty", share(&QueueLengths::empty_ns));
  columns.time("Starved", length(&QueueLengths::starved_ns)).if_room(1);
  columns.percent("Starved share", share(&QueueLengths::starved_ns));
  add_waits(columns, &Row::waits);
  columns.time("Total", length(&QueueLengths::total_ns)).for_programs();
  columns.time("Idle", length(&QueueLengths::idle_ns)).for_programs();
  return columns.table_of(analysis::launch_queues(timeline));
}

Table table_of_ranges(const Timeline& timeline, const Projection& projection) {
  using Row = RangeLaunches;
  ColumnsOf<Row> columns(timeline);
  columns.text("Range", common::range_or_reason<Row>);
  columns.count("Launches", [](const Row& row) { return row.waits.launches; });
  columns.decimal("Queue at launch", "", 2, [](const Row& row) { return row.waits.queue_at_launch_hundredths; });
  add_waits(columns, &Row::waits);
  return columns.table_of(analysis::launches_of_ranges(timeline, projection));
}

void add_notes(const Timeline& timeline, Table& table) {
  const ActivityTable& activities = timeline.activities;
  std::uint64_t orphans = 0;
  for (const LaunchIndex launch : activities.launch) orphans += launch >= timeline.launches.size() ? 1 : 0;
  if (orphans != 0)
    table.note("launch_queue: the launch of " + base::with_thousands(orphans) +
               " operations is not in the input; they run, but they never wait in a queue");
  if (timeline.clock_error_ns > 0 && activities.size() != 0)
    table.note("launch_queue: host and device times may differ by " +
               base::with_thousands(static_cast<std::uint64_t>(timeline.clock_error_ns)) +
               " ns: shorter latencies mean little");
}

}  // namespace

Result<Table> make_launch_queue(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  Table table = options.by == "range" ? table_of_ranges(timeline, projected.projection()) : table_of_streams(timeline);
  add_notes(timeline, table);
  return table;
}

}  // namespace rangefinder::report
