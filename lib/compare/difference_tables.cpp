// SPDX-License-Identifier: MIT
#include "compare/difference_tables.hpp"

#include "report/columns.hpp"
#include "report/units.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::compare {
namespace {

using report::Column;
using report::ColumnsOf;
using report::Table;

std::int64_t to_integer(double value) noexcept {
  constexpr double kMost = 9.2e18;
  return std::isfinite(value) ? static_cast<std::int64_t>(std::llround(std::clamp(value, -kMost, kMost))) : 0;
}

/// "+1.300 ms"
std::string with_sign(const std::string& text, bool is_positive) { return is_positive ? "+" + text : text; }

std::string text_of(FigureUnit unit, double value) {
  switch (unit) {
    case FigureUnit::kNanoseconds:
      return report::readable_time(to_integer(value));
    case FigureUnit::kBytes:
      return report::readable_bytes(to_integer(value));
    case FigureUnit::kCount:
      return report::readable_real(value);
    case FigureUnit::kPerSecond:
      return report::readable_real(value) + " /s";
  }
  return {};
}

/// Tenths of a percent; nothing of a baseline that is not above 0.
std::optional<std::int64_t> change_share(double baseline, double candidate) {
  if (!(baseline > 0)) return std::nullopt;
  return to_integer((candidate - baseline) / baseline * 1000);
}

/// Hundredths.
std::int64_t hundredths(double value) noexcept { return to_integer(value * 100); }

/// "was train/forward/layers.11", "new"
std::string remark(const TimeDifference& row) {
  if (row.change == PathChange::kNew || row.change == PathChange::kGone) return to_string(row.change);
  return row.was.empty() ? std::string() : "was " + row.was;
}

void add_division(ColumnsOf<TimeDifference>& columns) {
  const auto part = [](std::int64_t TimeDivision::*member) {
    return [member](const TimeDifference& row) { return row.division.*member; };
  };
  columns.time("Count", part(&TimeDivision::count_ns)).if_any().if_room(3);
  columns.time("Host", part(&TimeDivision::host_ns)).if_any().if_room(3);
  columns.time("Kernels", part(&TimeDivision::kernel_ns)).if_any().if_room(3);
  columns.time("Idle", part(&TimeDivision::idle_ns)).if_any().if_room(3);
  columns.time("Overlap", part(&TimeDivision::overlap_ns)).if_any().if_room(3);
}

void add_times(ColumnsOf<TimeDifference>& columns) {
  columns.time("Baseline", &TimeDifference::baseline_ns);
  columns.time("Candidate", &TimeDifference::candidate_ns);
  columns.time("Change", [](const TimeDifference& row) { return row.change_ns(); });
  columns
      .percent("Change share",
               [](const TimeDifference& row) {
                 return change_share(static_cast<double>(row.baseline_ns), static_cast<double>(row.candidate_ns));
               })
      .if_room(2);
}

/// Of the change that the verdict is about.
auto fast(std::int64_t ChangeInterval::*member) {
  return [member](const TimeDifference& row) -> std::optional<std::int64_t> {
    if (!row.fast_change) return std::nullopt;
    return *row.fast_change.*member;
  };
}

bool is_changed(const TimeDifference& row) noexcept {
  return row.change_ns() != 0 || row.change == PathChange::kNew || row.change == PathChange::kGone;
}

bool is_changed(const MemoryDifference& row) noexcept { return row.change_bytes() != 0; }

/// The rows that changed: the first `top` (0: all), and how many more there are.
template <typename Row>
Table changed_rows(const ColumnsOf<Row>& columns, std::span<const Row> rows, std::size_t top) {
  Table table = columns.table();
  std::size_t left_out = 0;
  for (const Row& row : rows) {
    if (!is_changed(row)) continue;
    if (top != 0 && table.row_count() == top)
      ++left_out;
    else
      columns.add_row(table, row);
  }
  table.set_left_out(left_out, 0);
  return table;
}

}  // namespace

Table figures_table(const RunDifference& difference) {
  using Row = FigureDifference;
  ColumnsOf<Row> columns;
  columns.text("Figure", [](const Row& row) { return row.name; });
  columns.text("Baseline", [](const Row& row) { return text_of(row.unit, row.baseline); });
  columns.text("Candidate", [](const Row& row) { return text_of(row.unit, row.candidate); });
  columns.text("Change", [](const Row& row) {
    const double change = row.candidate - row.baseline;
    return with_sign(text_of(row.unit, change), change > 0);
  });
  columns.percent("Change share", [](const Row& row) { return change_share(row.baseline, row.candidate); });
  return columns.table_of(difference.figures);
}

Table times_table(std::span<const TimeDifference> times, std::size_t top) {
  using Row = TimeDifference;
  ColumnsOf<Row> columns;
  std::string title = times.empty() ? "Name" : to_string(times.front().by);
  title.front() = static_cast<char>(title.front() - 'a' + 'A');
  columns.text(title, [](const Row& row) { return row.name; });
  add_times(columns);
  add_division(columns);
  const bool has_remarks =
      std::any_of(times.begin(), times.end(), [](const Row& row) { return is_changed(row) && !remark(row).empty(); });
  const bool has_judged =
      std::any_of(times.begin(), times.end(), [](const Row& row) { return row.fast_change.has_value(); });
  if (has_judged) columns.time("Change fast", fast(&ChangeInterval::change_ns)).if_room(2);
  columns.text("Verdict", [](const Row& row) { return report::CellText(to_string(row.verdict)); }).if_room(1);
  if (has_remarks) columns.text("Remark", remark).if_room(1);
  return changed_rows(columns, times, top);
}

Table memory_table(std::span<const MemoryDifference> memory, std::size_t top) {
  using Row = MemoryDifference;
  ColumnsOf<Row> columns;
  columns.text(!memory.empty() && memory.front().by == DifferenceBy::kOperator ? "Operator" : "Range",
               [](const Row& row) { return row.name.empty() ? std::string("(none)") : row.name; });
  columns.bytes("Baseline", &Row::baseline_bytes);
  columns.bytes("Candidate", &Row::candidate_bytes);
  columns.bytes("Change", [](const Row& row) { return row.change_bytes(); });
  columns.percent("Change share", [](const Row& row) {
    return change_share(static_cast<double>(row.baseline_bytes), static_cast<double>(row.candidate_bytes));
  });
  return changed_rows(columns, memory, top);
}

Table all_times_table(const RunDifference& difference) {
  using Row = TimeDifference;
  ColumnsOf<Row> columns;
  columns.text("By", [](const Row& row) { return report::CellText(to_string(row.by)); });
  columns.text("Name", [](const Row& row) { return row.name; }).naming_rows();
  columns.text("Was", [](const Row& row) { return report::if_that(!row.was.empty(), row.was); });
  columns.text("Became", [](const Row& row) { return report::CellText(to_string(row.change)); });
  add_times(columns);
  add_division(columns);
  columns.text("Verdict", [](const Row& row) { return report::CellText(to_string(row.verdict)); });
  columns.time("Change fast", fast(&ChangeInterval::change_ns));
  columns.time("Change fast low", fast(&ChangeInterval::low_ns));
  columns.time("Change fast high", fast(&ChangeInterval::high_ns));
  columns.decimal("Baseline calls", "", 2, [](const Row& row) { return hundredths(row.baseline_calls); });
  columns.decimal("Candidate calls", "", 2, [](const Row& row) { return hundredths(row.candidate_calls); });
  columns.decimal("Baseline ops", "", 2, [](const Row& row) { return hundredths(row.baseline_ops); });
  columns.decimal("Candidate ops", "", 2, [](const Row& row) { return hundredths(row.candidate_ops); });
  return columns.table_of(difference.times);
}

std::string step_sentence(const RunDifference& difference) {
  if (difference.times.empty() || difference.times.front().by != DifferenceBy::kStep) return "no step to compare";
  const TimeDifference& step = difference.times.front();
  const auto time = [](std::int64_t ns) { return with_sign(report::readable_time(ns), ns > 0); };
  std::string text = "a step takes " + report::readable_time(step.candidate_ns) + ", and took " +
                     report::readable_time(step.baseline_ns);
  if (step.change_ns() == 0) return text;
  text += ": " + time(step.change_ns());
  if (const auto share = change_share(static_cast<double>(step.baseline_ns), static_cast<double>(step.candidate_ns)))
    text += " (" + with_sign(report::plain_number(*share, 1), *share > 0) + " %)";
  const TimeDivision& parts = step.division;
  const std::array<std::pair<std::string_view, std::int64_t>, 5> named{{{"count", parts.count_ns},
                                                                        {"host", parts.host_ns},
                                                                        {"kernels", parts.kernel_ns},
                                                                        {"idle", parts.idle_ns},
                                                                        {"overlap", parts.overlap_ns}}};
  std::string reasons;
  for (const auto& [name, ns] : named)
    if (ns != 0) reasons += (reasons.empty() ? "; " : ", ") + std::string(name) + " " + time(ns);
  return text + reasons;
}

}  // namespace rangefinder::compare
