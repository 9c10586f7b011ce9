// SPDX-License-Identifier: MIT
#include "analysis/thread_times.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// `threads`: what each thread of the host did: in operators, in other ranges, waiting for whom, nothing.
namespace rangefinder::report {
namespace {

using analysis::HostState;
using analysis::ThreadTimes;

bool are_of_several_processes(const Timeline& timeline, const std::vector<ThreadTimes>& rows) {
  return std::any_of(rows.begin(), rows.end(), [&](const ThreadTimes& row) {
    return timeline.threads[row.thread].process != timeline.threads[rows.front().thread].process;
  });
}

void note_running(Table& table, const std::vector<ThreadTimes>& rows) {
  std::int64_t running_ns = 0, recorded_ns = 0;
  for (const ThreadTimes& row : rows) {
    running_ns = detail::plus(running_ns, row.running_ns());
    recorded_ns = std::max(recorded_ns, row.recorded_ns);
  }
  if (recorded_ns > 0)
    table.note(
        "threads: " +
        plain_number(common::rounded(static_cast<double>(running_ns) / static_cast<double>(recorded_ns) * 100), 2) +
        " of " + std::to_string(rows.size()) + " run at a time, on average");
  const auto may_wait = [](const ThreadTimes& row) { return row.of(HostState::kBesideCollective) > 0; };
  if (std::any_of(rows.begin(), rows.end(), may_wait))
    table.note(
        "threads: Beside collectives: in a range and in no operator while a collective ran, for which the thread may "
        "have waited; Running does not count it");
  table.note(
      "threads: workers of OpenMP and at::parallel_for record no ranges and have no rows; CPU time is that of the "
      "thread itself (record with cpu_counters=on)");
}

}  // namespace

Result<Table> make_threads(const ProjectedTimeline& projected, const ViewOptions&) {
  using Row = ThreadTimes;
  const Timeline& timeline = projected.timeline();
  const std::vector<Row> rows =
      analysis::thread_times(timeline, projected.projection(), projected.projection_options());
  const auto in = [](HostState state) { return [state](const Row& row) { return row.of(state); }; };
  const auto share = [](auto time) {
    return [time](const Row& row) { return common::share(std::invoke(time, row), row.recorded_ns); };
  };
  const auto cpu_share = [](const Row& row) -> std::optional<std::int64_t> {
    if (!row.cpu_ns || row.counted_ns <= 0) return {};
    return common::share(*row.cpu_ns, row.counted_ns);
  };
  ColumnsOf<Row> columns;
  columns.text("Thread", [&](const Row& row) { return thread_label(timeline, row.thread); });
  if (are_of_several_processes(timeline, rows))
    columns.text("Process",
                 [&](const Row& row) { return process_label(timeline, timeline.threads[row.thread].process); });
  columns.time("Running", &Row::running_ns);
  columns.percent("Running share", share(&Row::running_ns)).if_room(1);
  columns.time("In operators", in(HostState::kOperator)).if_room(7).if_any();
  columns.time("In other ranges", in(HostState::kRange)).if_room(8).if_any();
  columns.time("In collectives", in(HostState::kCollective)).if_any();
  columns.time("Beside collectives", in(HostState::kBesideCollective)).if_room(3).if_any();
  columns.time("Waits for devices", in(HostState::kDeviceWait)).if_room(2).if_any();
  columns.time("Waits for engine", in(HostState::kEngineWait)).if_room(4).if_any();
  columns.time("Idle", &Row::idle_ns);
  columns.percent("Idle share", share(&Row::idle_ns)).if_room(9);
  columns.time("CPU time", &Row::cpu_ns).if_room(6).if_any();
  columns.percent("CPU share", cpu_share).if_room(5).if_any();
  columns.time("Recorded", &Row::recorded_ns).for_programs();
  columns.count("Thread id", [&](const Row& row) { return timeline.threads[row.thread].tid; }).for_programs();
  Table table = columns.table_of(rows);
  note_running(table, rows);
  return table;
}

}  // namespace rangefinder::report
