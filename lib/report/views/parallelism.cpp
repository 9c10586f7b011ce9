// SPDX-License-Identifier: MIT
#include "analysis/range_forest.hpp"
#include "analysis/range_rollup.hpp"
#include "analysis/steps.hpp"
#include "analysis/thread_times.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

// `parallelism`: how many threads of the process ran during ranges and steps, of those that there are.
namespace rangefinder::report {
namespace {

using analysis::RunningThreads;

/// Windows of time of one name, added up.
struct WindowSums {
  StringId name = StringId::kEmpty;  ///< kEmpty: steps
  std::uint64_t count = 0;
  double wall_ns = 0;
  double running_ns = 0;    ///< of all threads of the processes
  double available_ns = 0;  ///< had all of them run all the time
  double cpu_ns = 0;        ///< of the thread of the range
  double counted_ns = 0;    ///< wall time of the ranges that this is of

  void add(const RunningThreads& running, ProcessIndex process, std::int64_t begin_ns, std::int64_t end_ns) {
    if (end_ns <= begin_ns) return;
    const double length_ns = static_cast<double>(end_ns) - static_cast<double>(begin_ns);
    ++count;
    wall_ns += length_ns;
    running_ns += static_cast<double>(running.between(process, begin_ns, end_ns));
    available_ns += length_ns * running.threads(process);
  }
};

WindowSums sums_of_steps(const ProjectedTimeline& projected, const RunningThreads& running,
                         const analysis::StepRules& rules) {
  WindowSums sums;
  for (const analysis::StepFigures& step :
       analysis::analyse_steps(projected.timeline(), projected.projection(), rules).steps)
    sums.add(running, step.process, step.begin_ns, step.end_ns);
  return sums;
}

/// By range; -1: not counted.
std::vector<std::int64_t> cpu_times(const Timeline& timeline) {
  std::vector<std::int64_t> times(timeline.ranges.size(), -1);
  const CpuCounterTable& counters = timeline.cpu_counters;
  for (std::size_t row = 0; row < counters.size(); ++row)
    if (counters.range[row] < times.size())
      times[counters.range[row]] = counters.counts[row][static_cast<std::size_t>(CpuEvent::kCpuTime)];
  return times;
}

/// Of ranges of one name that are inside each other, the outermost.
std::vector<WindowSums> sums_of_names(const ProjectedTimeline& projected, const RunningThreads& running) {
  const Timeline& timeline = projected.timeline();
  const RangeTable& ranges = timeline.ranges;
  const analysis::RangeForest forest(projected.projection());
  const std::vector<bool> inside = analysis::inside_their_like(ranges.size(), forest, [&](RangeIndex range) {
    return std::uint64_t{static_cast<std::uint32_t>(ranges.name[range])};
  });
  const std::vector<std::int64_t> cpu_ns = cpu_times(timeline);
  std::unordered_map<std::uint32_t, std::size_t> places;
  std::vector<WindowSums> sums;
  for (const RangeIndex range : forest.order()) {
    const ThreadIndex thread = ranges.thread[range];
    if (inside[range] || thread >= timeline.threads.size() || (ranges.flags[range] & kBeforeRecording) != 0) continue;
    if (!analysis::takes_part(ranges.kind[range], projected.projection_options())) continue;
    const auto [place, is_new] = places.try_emplace(static_cast<std::uint32_t>(ranges.name[range]), sums.size());
    if (is_new) sums.push_back({ranges.name[range]});
    WindowSums& sum = sums[place->second];
    sum.add(running, timeline.threads[thread].process, ranges.begin_ns[range], ranges.end_ns[range]);
    if (cpu_ns[range] < 0) continue;
    sum.cpu_ns += static_cast<double>(cpu_ns[range]);
    sum.counted_ns += static_cast<double>(ranges.end_ns[range]) - static_cast<double>(ranges.begin_ns[range]);
  }
  std::erase_if(sums, [](const WindowSums& sum) { return sum.count == 0; });
  std::stable_sort(sums.begin(), sums.end(),
                   [](const WindowSums& a, const WindowSums& b) { return a.wall_ns > b.wall_ns; });
  return sums;
}

}  // namespace

Result<Table> make_parallelism(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = WindowSums;
  analysis::StepRules rules;
  if (Status status = rules.apply(options.step_names); !status.ok()) return std::move(status).error();
  const RunningThreads running(projected.timeline(), projected.projection_options());
  std::vector<Row> rows = sums_of_names(projected, running);
  if (const Row steps = sums_of_steps(projected, running, rules); steps.count != 0) rows.insert(rows.begin(), steps);
  const auto ratio = [](double Row::*part, double Row::*whole, double factor) {
    return [=](const Row& row) {
      return if_that(row.*whole > 0, common::rounded(row.*part / std::max(row.*whole, 1.0) * factor));
    };
  };
  ColumnsOf<Row> columns(projected.timeline());
  columns.text("Range",
               [](const Row& row) { return row.name != StringId::kEmpty ? CellText(row.name) : CellText("(steps)"); });
  columns.count("Count", &Row::count).if_room(2);
  columns.time("Wall", [](const Row& row) { return common::rounded(row.wall_ns); });
  columns.time("Thread time", [](const Row& row) { return common::rounded(row.running_ns); }).if_room(3);
  columns.decimal("Threads running", "", 2, ratio(&Row::running_ns, &Row::wall_ns, 100));
  columns.decimal("Threads", "", 2, ratio(&Row::available_ns, &Row::wall_ns, 100)).if_room(1);
  columns.percent("Efficiency", ratio(&Row::running_ns, &Row::available_ns, 1000));
  columns.time("CPU time", [](const Row& row) { return if_that(row.counted_ns > 0, common::rounded(row.cpu_ns)); })
      .if_any();
  columns.percent("CPU share", ratio(&Row::cpu_ns, &Row::counted_ns, 1000)).if_any();
  Table table = columns.table_of(rows);
  table.note(
      "a thread runs while it is in an operator or range and waits for nothing that was recorded; Efficiency: threads "
      "that ran, of those of the process that ever did; workers of OpenMP and at::parallel_for record no ranges");
  return table;
}

}  // namespace rangefinder::report
