// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "report/units.hpp"
#include "report/view.hpp"
#include "report/views/collective_labels.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/straggler_words.hpp"

#include <rangefinder/analysis/stragglers.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// `stragglers`: which rank the others wait for, by how much, and what it is slow at. A row a rank, the slowest first.
namespace rangefinder::report {

Result<Stragglers> stragglers_of(const ProjectedTimeline& projected, const ViewOptions& options) {
  StragglerOptions wanted;
  wanted.step_names = options.step_names;
  return find_stragglers(projected.timeline(), wanted);
}

void note_straggler_input(const Stragglers& found, const char* view, Table& table) {
  if (!found.abstained.empty()) table.note(std::string(view) + ": no rank was judged: " + found.abstained);
  for (const std::string& note : found.notes) table.note(std::string(view) + ": " + note);
}

namespace {

struct StragglerLine {
  const RankScore* score = nullptr;
  const Straggler* named = nullptr;
  std::uint64_t odd_steps = 0;
  bool judged = false;
};

std::string cause_words(const Straggler& one) {
  if (one.cause == StragglerCause::kKernels) return std::string(to_string(one.kernel_class)) + " kernels";
  return to_string(one.cause);
}

/// "steps 4, 8, 12 and 6 more"
std::string list_of_steps(const std::vector<std::int64_t>& steps) {
  constexpr std::size_t kMost = 8;
  std::string text = steps.size() == 1 ? "step " : "steps ";
  for (std::size_t i = 0; i < steps.size() && i < kMost; ++i) text += (i != 0 ? ", " : "") + std::to_string(steps[i]);
  if (steps.size() > kMost) text += " and " + std::to_string(steps.size() - kMost) + " more";
  return text;
}

std::string state_of(const StragglerLine& line) {
  if (line.named != nullptr)
    return line.named->persistent ? "slow" : "slow in " + std::to_string(line.named->steps.size()) + " steps";
  if (!line.judged) return "too few steps";
  if (line.odd_steps != 0)
    return "odd in " + std::to_string(line.odd_steps) + (line.odd_steps == 1 ? " step" : " steps");
  return "";
}

std::int64_t tenths(double ratio) { return common::rounded(ratio * 1000); }

std::string share_words(double ratio) { return plain_number(tenths(ratio), 1) + " %"; }

std::string confidence_words(double p_value) {
  constexpr double kPrinted = 0.0001;
  return p_value < kPrinted ? "over 99.99 %" : plain_number(common::rounded((1 - p_value) * 10000), 2) + " %";
}

std::string rank_words(const Timeline& timeline, const RankScore& rank) {
  const std::string& host = timeline.processes[rank.process].host;
  return "rank " + rank_label(timeline, rank.process) + (host.empty() ? "" : " (" + host + ")");
}

std::string sentence_of(const Timeline& timeline, const Stragglers& found, const Straggler& one) {
  const bool link = one.cause == StragglerCause::kCommunication;
  std::string text = "stragglers: " + rank_words(timeline, found.ranks[one.rank]) +
                     " is slow: " + (link ? "its collectives take " : "its own work takes ") +
                     readable_time(one.excess_ns) + " (" + share_words(one.excess_ratio) +
                     " of a step) longer than on the median rank, " +
                     (one.persistent ? "in most steps" : "in " + list_of_steps(one.steps));
  text += link ? "; cause: communication, a slow link"
               : "; cause: " + cause_words(one) + " (" + share_words(one.cause_ratio) + " of it)";
  if (one.range != StringId::kEmpty) text += ", in range " + base::printable(timeline.text(one.range));
  return text + "; confidence " + confidence_words(one.p_value);
}

void note_odd_steps(const Timeline& timeline, const Stragglers& found, Table& table) {
  constexpr std::size_t kMostNotes = 5;
  std::vector<const Straggler*> odd;
  for (const Straggler& one : found.odd) odd.push_back(&one);
  std::stable_sort(odd.begin(), odd.end(),
                   [](const Straggler* a, const Straggler* b) { return a->excess_ns > b->excess_ns; });
  for (std::size_t i = 0; i < odd.size() && i < kMostNotes; ++i) {
    const Straggler& one = *odd[i];
    std::string text = "stragglers: " + rank_words(timeline, found.ranks[one.rank]) + " was slow in " +
                       list_of_steps(one.steps) + " only: " + readable_time(one.excess_ns) + " (" +
                       share_words(one.excess_ratio) + " of the step); cause: " + cause_words(one);
    if (one.range != StringId::kEmpty) text += ", in range " + base::printable(timeline.text(one.range));
    table.note(std::move(text));
  }
  if (odd.size() > kMostNotes)
    table.note("stragglers: " + std::to_string(odd.size() - kMostNotes) +
               " more single slow steps (--view ranks has them all)");
}

void add_notes(const Timeline& timeline, const Stragglers& found, Table& table) {
  note_straggler_input(found, "stragglers", table);
  if (!found.abstained.empty()) return;
  for (const Straggler& one : found.stragglers) table.note(sentence_of(timeline, found, one));
  if (found.stragglers.empty()) {
    const auto slowest =
        std::max_element(found.ranks.begin(), found.ranks.end(),
                         [](const RankScore& a, const RankScore& b) { return a.excess_ratio < b.excess_ratio; });
    table.note("stragglers: no rank stands out: " + std::to_string(found.ranks.size()) + " ranks, " +
               std::to_string(found.steps.size()) + " steps; the slowest is " + rank_words(timeline, *slowest) +
               ", by " + share_words(slowest->excess_ratio) + " of a step");
  }
  note_odd_steps(timeline, found, table);
  if (!found.slow_steps.empty())
    table.note("stragglers: all ranks took half as long again as usual, or longer, in " +
               list_of_steps(found.slow_steps));
}

std::vector<StragglerLine> lines_of(const Stragglers& found) {
  std::vector<StragglerLine> lines;
  if (!found.abstained.empty()) return lines;
  std::vector<bool> named(found.ranks.size());
  const auto add = [&](std::size_t rank, const Straggler* one) {
    StragglerLine line;
    line.score = &found.ranks[rank];
    line.named = one;
    line.judged = line.score->steps >= StragglerOptions().fewest_steps;
    for (std::size_t step = 0; step < found.steps.size(); ++step) line.odd_steps += found.cell(rank, step).odd ? 1 : 0;
    lines.push_back(line);
  };
  for (const Straggler& one : found.stragglers) {
    named[one.rank] = true;
    add(one.rank, &one);
  }
  const auto first = static_cast<std::ptrdiff_t>(lines.size());
  for (std::size_t rank = 0; rank < found.ranks.size(); ++rank)
    if (!named[rank]) add(rank, nullptr);
  std::stable_sort(lines.begin() + first, lines.end(), [](const StragglerLine& a, const StragglerLine& b) {
    return a.score->excess_ns > b.score->excess_ns;
  });
  return lines;
}

}  // namespace

Result<Table> make_stragglers(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = StragglerLine;
  const Timeline& timeline = projected.timeline();
  const Result<Stragglers> found = stragglers_of(projected, options);
  if (!found) return found.error();
  const auto if_named = [](auto get) { return [get](const Row& row) { return figure_of(row.named, get); }; };
  const auto part = [](std::int64_t RankScore::*which) {
    return [which](const Row& row) { return row.score->*which; };
  };
  ColumnsOf<Row> columns(timeline);
  columns.text("Rank", [&](const Row& row) { return rank_label(timeline, row.score->process); });
  columns.text("Host", [&](const Row& row) { return timeline.processes[row.score->process].host; }).if_room(5).if_any();
  columns.text("State", state_of);
  columns.time("Excess",
               [](const Row& row) { return row.named != nullptr ? row.named->excess_ns : row.score->excess_ns; });
  columns.percent("Excess share", [](const Row& row) {
    return tenths(row.named != nullptr ? row.named->excess_ratio : row.score->excess_ratio);
  });
  columns.text("Cause", if_named(cause_words));
  columns.percent("Cause share", if_named([](const Straggler& one) { return tenths(one.cause_ratio); })).if_room(4);
  columns.text("Slow range", if_named([](const Straggler& one) { return CellText(one.range); })).if_room(1).if_any();
  columns
      .decimal("Confidence", "%", 2, if_named([](const Straggler& one) {
                 return static_cast<std::int64_t>(std::min(std::floor(one.confidence() * 10000), 9999.0));
               }))
      .if_room(2);
  columns.time("Step", part(&RankScore::step_ns)).if_room(6);
  columns.time("Own", part(&RankScore::own_ns)).if_room(3);
  columns.time("Waited", [](const Row& row) { return if_that(row.score->waited_ns != kNoTime, row.score->waited_ns); })
      .if_room(3);
  columns
      .decimal("Kernel score", "", 3,
               [](const Row& row) {
                 return if_that(row.score->kernel_score > 0, common::rounded(row.score->kernel_score * 1000));
               })
      .if_room(4)
      .if_any();
  columns.count("Steps", [](const Row& row) { return row.score->steps; }).if_room(7);
  columns.count("Slow steps", if_named([](const Straggler& one) { return one.steps.size(); })).if_room(7);
  columns.count("Odd steps", &Row::odd_steps).if_room(7).if_any();
  columns.time("Input excess", part(&RankScore::input_excess_ns)).for_programs();
  columns.time("Host excess", part(&RankScore::host_excess_ns)).for_programs();
  for (std::size_t i = 0; i < kKernelClasses; ++i) {
    std::string title = to_string(static_cast<KernelClass>(i));
    title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
    columns.time(title + " excess", [i](const Row& row) { return row.score->kernel_excess_ns[i]; }).for_programs();
  }
  columns.time("Communication excess", part(&RankScore::communication_excess_ns)).for_programs();
  columns.real("P value", [](const Row& row) { return row.named != nullptr ? row.named->p_value : row.score->p_value; })
      .for_programs();
  Table table = columns.table_of(lines_of(*found));
  add_notes(timeline, *found, table);
  return table;
}

}  // namespace rangefinder::report
