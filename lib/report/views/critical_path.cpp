// SPDX-License-Identifier: MIT
#include "analysis/critical_path/path_rows.hpp"
#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"

#include <rangefinder/analysis/critical_path.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// `critical_path`: which work and which waits made the steps as long as they were, and how long they would be without.
namespace rangefinder::report {
namespace {

/// Each is a schedule worked out again.
constexpr std::size_t kWhatIfs = 16;

using analysis::PathBy;
using analysis::PathRow;

/// Which windows, and what they are called in notes.
struct Chosen {
  std::vector<CriticalWindow> windows;
  std::string name;
};

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Error bad_window(std::string_view of) {
  return Error(ErrorCode::kInvalidArgument, "critical_path: of \"" + base::printable(of) +
                                                "\": there are all, steps, step:NUMBER, range:NAME and "
                                                "time:BEGIN..END (nanoseconds since the begin of the recording)");
}

Error nothing_of(std::string_view what) {
  return Error(ErrorCode::kNotFound, "critical_path: the recording has no " + base::printable(what));
}

Result<Chosen> chosen_time(const Timeline& timeline, const CriticalPathGraph& graph, std::string_view of) {
  const std::string_view times = of.substr(of.find(':') + 1);
  const std::size_t dots = times.find("..");
  if (dots == std::string_view::npos) return bad_window(of);
  const auto begin = number_of(times.substr(0, dots)), end = number_of(times.substr(dots + 2));
  if (!begin || !end || *begin > *end) return bad_window(of);
  return Chosen{{graph.between(detail::plus(timeline.begin_ns, *begin), detail::plus(timeline.begin_ns, *end))},
                "this stretch of time"};
}

Result<Chosen> choose(const Timeline& timeline, const CriticalPathGraph& graph, std::string_view of) {
  if (of == "all" || (of.empty() && timeline.steps.size() == 0)) return Chosen{{graph.whole()}, "the recording"};
  if (of.starts_with("time:")) return chosen_time(timeline, graph, of);
  Chosen chosen;
  if (of.starts_with("range:")) {
    chosen.windows = graph.runs_of(of.substr(6));
    chosen.name = "all runs of " + base::printable(of.substr(6));
    if (chosen.windows.empty()) return nothing_of("range " + std::string(of.substr(6)));
    return chosen;
  }
  chosen.windows = graph.steps();
  chosen.name = "all steps";
  if (of.starts_with("step:")) {
    const auto number = number_of(of.substr(5));
    if (!number) return bad_window(of);
    std::erase_if(chosen.windows, [wanted = *number](const CriticalWindow& one) { return one.step != wanted; });
    chosen.name = "step " + std::to_string(*number);
  } else if (!of.empty() && of != "steps") {
    return bad_window(of);
  }
  if (chosen.windows.empty())
    return nothing_of(of.empty() || of == "steps" ? "steps" : "step " + std::string(of.substr(5)));
  return chosen;
}

std::int64_t total_of(const std::vector<CriticalWindow>& windows) {
  std::int64_t total = 0;
  for (const CriticalWindow& window : windows) total = detail::plus(total, window.length_ns());
  return total;
}

Result<Table> rows_by(const Timeline& timeline, const CriticalPathGraph& graph, const Chosen& chosen, PathBy by) {
  const std::int64_t total = total_of(chosen.windows);
  const std::vector<PathRow> rows = analysis::path_rows(timeline, graph, chosen.windows, by, kWhatIfs);
  const auto gain = [total](std::optional<std::int64_t> PathRow::*length) {
    return [total, length](const PathRow& row) -> std::optional<std::int64_t> {
      if (!(row.*length)) return {};
      return std::max<std::int64_t>(detail::minus(total, *(row.*length)), 0);
    };
  };
  ColumnsOf<PathRow> columns(timeline);
  const auto name = [](const PathRow& row) -> CellText {
    return row.name != StringId::kEmpty ? CellText(row.name) : CellText("(none)");
  };
  if (by == PathBy::kReason)
    columns.text("Reason", [](const PathRow& row) { return std::string(to_string(row.reason)); }).naming_rows();
  else
    columns.text(by == PathBy::kRange ? "Range" : "Operator", name).naming_rows();
  columns.time("Time", &PathRow::time_ns);
  columns.percent("Share", [total](const PathRow& row) { return common::share(row.time_ns, total); });
  columns.count("Segments", &PathRow::segments).if_room(4);
  columns.time("Gain if free", gain(&PathRow::if_free_ns));
  columns.time("Gain if twice as fast", gain(&PathRow::if_twice_as_fast_ns)).if_room(2);
  return columns.table_of(rows);
}

/// A window with its time by reason.
struct WindowRow {
  const CriticalWindow* window;
  std::vector<std::int64_t> by_reason;
};

Result<Table> rows_by_window(const Timeline& timeline, const CriticalPathGraph& graph, const Chosen& chosen) {
  const auto paths = graph.paths(chosen.windows);
  std::vector<WindowRow> rows;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    rows.push_back({&chosen.windows[i], std::vector<std::int64_t>(kCriticalReasons)});
    for (const CriticalSegment& segment : paths[i])
      rows.back().by_reason[static_cast<std::size_t>(segment.reason)] += segment.length_ns();
  }
  ColumnsOf<WindowRow> columns(timeline);
  if (timeline.processes.size() > 1)
    columns.text("Process", [&](const WindowRow& row) -> std::string {
      if (row.window->process >= timeline.processes.size()) return {};
      const ProcessInfo& process = timeline.processes[row.window->process];
      return process.rank >= 0 ? "rank " + std::to_string(process.rank) : std::to_string(process.pid);
    });
  columns.count("Step", [](const WindowRow& row) { return row.window->step; });
  columns.timestamp("Begin", [](const WindowRow& row) { return row.window->begin_ns; });
  columns.time("Length", [](const WindowRow& row) { return row.window->length_ns(); });
  for (std::size_t i = 0; i < kCriticalReasons; ++i) {
    std::string title = to_string(static_cast<CriticalReason>(i));
    title.front() =
        static_cast<char>(title.front() >= 'a' && title.front() <= 'z' ? title.front() - 'a' + 'A' : title.front());
    columns.time(title, [i](const WindowRow& row) { return row.by_reason[i]; }).if_any();
  }
  return columns.table_of(rows);
}

Result<Table> segment_rows(const Timeline& timeline, const CriticalPathGraph& graph, const Chosen& chosen) {
  std::vector<CriticalSegment> rows;
  for (std::vector<CriticalSegment>& path : graph.paths(chosen.windows))
    rows.insert(rows.end(), path.begin(), path.end());
  const auto name_of = [&](RangeIndex range) {
    return range < timeline.ranges.size() ? timeline.ranges.name[range] : StringId::kEmpty;
  };
  ColumnsOf<CriticalSegment> columns(timeline);
  columns.timestamp("Begin", &CriticalSegment::begin_ns);
  columns.time("Length", &CriticalSegment::length_ns);
  columns.text("Reason", [](const CriticalSegment& row) { return std::string(to_string(row.reason)); });
  columns
      .kernel("Operation",
              [&](const CriticalSegment& row) -> CellText {
                if (row.activity < timeline.activities.size()) return timeline.activities.name[row.activity];
                if (row.call < timeline.calls.size()) return timeline.calls.name[row.call];
                return StringId::kEmpty;
              })
      .naming_rows();
  columns.text("Operator", [&](const CriticalSegment& row) -> CellText { return name_of(row.op); }).if_any();
  columns.text("Range", [&](const CriticalSegment& row) -> CellText { return name_of(row.range); }).if_any();
  columns.text("Thread", [&](const CriticalSegment& row) { return thread_label(timeline, row.thread); }).if_room(3);
  return columns.table_of(rows);
}

void add_notes(const Timeline& timeline, const Chosen& chosen, const ViewOptions& options, Table& table) {
  const std::int64_t total = total_of(chosen.windows);
  table.note("critical path of " + chosen.name + ": " +
             base::with_thousands(static_cast<std::uint64_t>(std::max<std::int64_t>(total, 0))) + " ns in " +
             base::with_thousands(chosen.windows.size()) + (chosen.windows.size() == 1 ? " window" : " windows"));
  if (options.instances || options.by == "step") return;
  table.note(
      "critical path: gains are upper bounds, from the whole schedule worked out again; those of several rows do not "
      "add up");
  if (timeline.activities.size() != 0 && timeline.calls.size() == 0 && timeline.launches.size() == 0)
    table.note("critical path: the input has no launches, so that device work follows its stream alone");
}

}  // namespace

Result<Table> make_critical_path(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  CriticalPathOptions wanted;
  wanted.projection = projected.projection_options();
  const CriticalPathGraph graph(timeline, wanted, projected.projection().owner);
  const Result<Chosen> chosen = choose(timeline, graph, options.of);
  if (!chosen) return chosen.error();
  Result<Table> table = [&]() -> Result<Table> {
    if (options.instances) return segment_rows(timeline, graph, *chosen);
    if (options.by == "range") return rows_by(timeline, graph, *chosen, PathBy::kRange);
    if (options.by == "operator") return rows_by(timeline, graph, *chosen, PathBy::kOperator);
    if (options.by == "step") return rows_by_window(timeline, graph, *chosen);
    return rows_by(timeline, graph, *chosen, PathBy::kReason);
  }();
  if (table) add_notes(timeline, *chosen, options, *table);
  return table;
}

}  // namespace rangefinder::report
