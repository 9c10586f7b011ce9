// SPDX-License-Identifier: MIT
#include "report/view.hpp"
#include "report/views/collective_labels.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/straggler_words.hpp"

#include <rangefinder/analysis/stragglers.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// `ranks`: a heat map of ranks and steps: how much longer the own work of each rank took than that of the median rank.
// For people a row a rank, with a character for each step; for programs a row for each rank and step.
namespace rangefinder::report {
namespace {

// Excess from these shares of a step on has the level after. What is below the first is no more than noise.
constexpr double kLevels[] = {0.02, 0.05, 0.10, 0.20, 0.40};
constexpr const char* kMarks[] = {".", "\xE2\x96\x82", "\xE2\x96\x83", "\xE2\x96\x85", "\xE2\x96\x86", "\xE2\x96\x88"};
constexpr const char* kPlainMarks[] = {".", "1", "2", "3", "4", "5"};
static_assert(std::size(kMarks) == std::size(kLevels) + 1);
constexpr std::size_t kMostMarks = 64;
constexpr std::size_t kFewestMarks = 16;
constexpr std::size_t kWidthOfOthers = 50;

std::string heat_of(const Stragglers& found, std::size_t rank, std::size_t per_mark, bool utf8) {
  std::string heat;
  for (std::size_t first = 0; first < found.steps.size(); first += per_mark) {
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t step = first; step < std::min(first + per_mark, found.steps.size()); ++step)
      if (found.cell(rank, step).step_ns != kNoTime) most = std::max(most, found.cell(rank, step).excess_ratio);
    const auto level =
        static_cast<std::size_t>(std::upper_bound(std::begin(kLevels), std::end(kLevels), most) - std::begin(kLevels));
    const bool known = most != -std::numeric_limits<double>::infinity();
    heat += !known ? "?" : utf8 ? kMarks[level] : kPlainMarks[level];
  }
  return heat;
}

Table heat_map(const Timeline& timeline, const Stragglers& found, const ViewOptions& options) {
  struct Row {
    const RankScore* score;
    std::string heat;
  };
  const std::size_t room =
      options.width == 0
          ? kMostMarks
          : std::clamp(options.width, kFewestMarks + kWidthOfOthers, kMostMarks + kWidthOfOthers) - kWidthOfOthers;
  const std::size_t per_mark = std::max<std::size_t>(1, (found.steps.size() + room - 1) / room);
  std::vector<Row> rows;
  for (std::size_t rank = 0; rank < found.ranks.size() && found.abstained.empty(); ++rank)
    rows.push_back({&found.ranks[rank], heat_of(found, rank, per_mark, options.utf8)});
  ColumnsOf<Row> columns(timeline);
  columns.text("Rank", [&](const Row& row) { return rank_label(timeline, row.score->process); });
  columns.time("Own", [](const Row& row) { return row.score->own_ns; });
  columns.time("Excess", [](const Row& row) { return row.score->excess_ns; });
  columns.percent("Excess share", [](const Row& row) { return common::rounded(row.score->excess_ratio * 1000); });
  columns.text("Steps", [](const Row& row) { return row.heat; });
  Table table = columns.table_of(rows);
  if (rows.empty()) return table;
  const auto mark = [&](std::size_t level) { return std::string(options.utf8 ? kMarks[level] : kPlainMarks[level]); };
  std::string words = "ranks: steps " + std::to_string(found.steps.front()) + " to " +
                      std::to_string(found.steps.back()) + ", " + (per_mark == 1 ? "one" : std::to_string(per_mark)) +
                      " a character" + (per_mark == 1 ? "" : ", of which the slowest counts") +
                      "; how much longer own work took than on the median rank, in shares of the step:";
  for (std::size_t level = 0; level < std::size(kLevels); ++level)
    words += " " + mark(level + 1) + " " + std::to_string(common::rounded(kLevels[level] * 100)) + " %";
  table.note(words + " or more");
  return table;
}

Table cells_table(const Timeline& timeline, const Stragglers& found) {
  struct Row {
    const RankScore* score;
    std::int64_t step;
    const RankStep* cell;
  };
  std::vector<Row> rows;
  for (std::size_t rank = 0; rank < found.ranks.size() && found.abstained.empty(); ++rank)
    for (std::size_t step = 0; step < found.steps.size(); ++step)
      if (found.cell(rank, step).step_ns != kNoTime)
        rows.push_back({&found.ranks[rank], found.steps[step], &found.cell(rank, step)});
  const auto of = [](auto member) { return [member](const Row& row) { return row.cell->*member; }; };
  ColumnsOf<Row> columns(timeline);
  columns.text("Rank", [&](const Row& row) { return rank_label(timeline, row.score->process); });
  columns.text("Host", [&](const Row& row) { return timeline.processes[row.score->process].host; }).if_any();
  columns.count("Step", &Row::step);
  columns.time("Time", of(&RankStep::step_ns));
  columns.time("Own", of(&RankStep::own_ns));
  columns.time("Waited", [](const Row& row) { return if_that(row.cell->waited_ns != kNoTime, row.cell->waited_ns); });
  columns.time("Communication", of(&RankStep::communication_ns));
  columns.time("Excess", of(&RankStep::excess_ns));
  columns.percent("Excess share", [](const Row& row) { return common::rounded(row.cell->excess_ratio * 1000); });
  columns.count("Odd", [](const Row& row) { return row.cell->odd ? 1 : 0; });
  columns.time("Data wait", of(&RankStep::input_ns));
  columns.time("Idle", of(&RankStep::idle_ns));
  return columns.table_of(rows);
}

}  // namespace

Result<Table> make_ranks(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  const Result<Stragglers> found = stragglers_of(projected, options);
  if (!found) return found.error();
  // Who chooses columns, an order or rows wants figures.
  const bool figures = options.format != ReportFormat::kText || !options.columns.empty() || !options.sort.empty();
  Table table = figures ? cells_table(timeline, *found) : heat_map(timeline, *found, options);
  note_straggler_input(*found, "ranks", table);
  return table;
}

}  // namespace rangefinder::report
