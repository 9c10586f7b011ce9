// SPDX-License-Identifier: MIT
#include "analysis/steps.hpp"

#include "analysis/step_work.hpp"
#include "projection/figures.hpp"
#include "report/units.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"
#include "report/views/roof.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// `steps`: what each step of a training loop did; `steps:summary`: percentiles, and where the time went.
namespace rangefinder::report {
namespace {

using analysis::Goodput;
using analysis::Percentiles;
using analysis::StepAnalysis;
using analysis::StepFigures;
using analysis::StepPart;
using analysis::StepWork;
using Figure = std::optional<std::int64_t>;

Figure if_known(std::int64_t value) { return if_that(value != analysis::kNotKnown, value); }

bool of_several_processes(const StepAnalysis& analysis) {
  return !analysis.steps.empty() && analysis.steps.front().process != analysis.steps.back().process;
}

struct Share {
  const char* name;
  std::int64_t Goodput::*time;
};
constexpr Share kLost[] = {{"data wait", &Goodput::data_ns},      {"checkpoint", &Goodput::checkpoint_ns},
                           {"recompute", &Goodput::recompute_ns}, {"skipped steps", &Goodput::skipped_ns},
                           {"warm-up", &Goodput::warm_up_ns},     {"between steps", &Goodput::between_ns}};

std::string percent(std::int64_t part, std::int64_t whole) {
  return plain_number(common::share(part, whole), 1) + " %";
}

/// One figure of every steady step.
template <typename Figure>
Percentiles of_steady(const StepAnalysis& analysis, Figure figure) {
  std::vector<std::int64_t> values;
  for (const StepFigures& step : analysis.steps)
    if (!step.warm_up) values.push_back(std::invoke(figure, step));
  return analysis::percentiles_of(std::move(values));
}

void add_notes(const StepAnalysis& analysis, Table& table) {
  if (analysis.steps.empty()) return;
  const std::uint64_t steps = analysis.steps.size();
  std::string counts = std::to_string(steps) + (steps == 1 ? " step" : " steps");
  if (analysis.warm_up != 0)
    counts += ", the first " + std::to_string(analysis.warm_up) + " of them warm-up";
  else if (steps < 6)
    counts += ", too few to tell warm-up from the rest";
  if (analysis.skipped != 0) counts += ", " + std::to_string(analysis.skipped) + " skipped";
  const Percentiles time = of_steady(analysis, &StepFigures::step_ns);
  counts += "; without warm-up p50 " + readable_time(time.p50) + ", p95 " + readable_time(time.p95) + ", p99 " +
            readable_time(time.p99);
  if (const auto rate = analysis::items_per_second_tenths(analysis.useful_items, analysis.useful_items_ns); rate != 0)
    counts += ", " + plain_number(rate, 1) + " items/s";
  table.note(std::move(counts));
  const Goodput& goodput = analysis.goodput;
  std::string shares =
      "goodput " + percent(goodput.useful_ns, goodput.wall_ns) + " of " + readable_time(goodput.wall_ns) + "; lost:";
  bool any = false;
  for (const Share& lost : kLost) {
    if (goodput.*lost.time == 0) continue;
    shares += std::string(any ? ", " : " ") + lost.name + " " + percent(goodput.*lost.time, goodput.wall_ns);
    any = true;
  }
  shares += any ? "" : " nothing that ranges and marks show";
  table.note(shares + "; goodput: loop time minus the losses listed here; GPU idle time is not one of them");
}

/// What steps computed, where the shapes of operators' inputs were recorded.
class StepRates {
 public:
  StepRates(const Timeline& timeline, const StepAnalysis& analysis, const ViewOptions& options)
      : steps_(analysis.steps), work_(analysis::work_of_steps(timeline, analysis.steps)) {
    const auto& kinds = timeline.ranges.kind;
    const bool operators = std::find(kinds.begin(), kinds.end(), RangeKind::kOperator) != kinds.end();
    if (!steps_.empty() && work_.empty() && operators)
      notes_.emplace_back(
          "no FLOPs of steps: record operators with the shapes of their inputs (OperatorOptions::shapes, or "
          "record_shapes of torch.profiler)");
    if (work_.empty()) return;
    roof_ = roof_of(timeline, options, false, notes_);
    notes_.emplace_back(
        "FLOPs: of the operators that began in the step, by the shapes of their inputs; MFU: their least time at the "
        "peaks of the machine, each type at its own, by the time of the step");
    const auto recomputes = [](const StepFigures& step) { return step.part(StepPart::kRecompute) > 0; };
    if (std::any_of(steps_.begin(), steps_.end(), recomputes))
      notes_.emplace_back("FLOPs and MFU count recomputed work (also known as HFU)");
  }

  void add_columns(ColumnsOf<StepFigures>& columns) const {
    columns.flops("FLOPs", [this](const StepFigures& row) { return flops(row); }).if_room(8).if_any();
    columns.decimal("GFLOP/s", "", 3, [this](const StepFigures& row) { return rate(row); }).if_room(4).if_any();
    columns.percent("MFU", [this](const StepFigures& row) { return utilisation(row); }).if_room(2).if_any();
  }
  void add_notes(Table& table) const {
    for (const std::string& note : notes_) table.note(note);
  }

 private:
  /// `step` is one of the analysis.
  const StepWork* work_of(const StepFigures& step) const {
    if (work_.empty()) return nullptr;
    const StepWork& work = work_[static_cast<std::size_t>(&step - steps_.data())];
    return work.work.all_flops() > 0 ? &work : nullptr;
  }
  Figure flops(const StepFigures& step) const {
    return figure_of(work_of(step), [](const StepWork& work) { return common::rounded(work.work.all_flops()); });
  }
  /// Thousandths of 10^9 a second.
  Figure rate(const StepFigures& step) const {
    const StepWork* const work = work_of(step);
    if (work == nullptr || step.step_ns() <= 0) return {};
    return common::rounded(work->work.all_flops() / static_cast<double>(step.step_ns()) * 1000);
  }
  Figure utilisation(const StepFigures& step) const {
    const StepWork* const work = work_of(step);
    if (work == nullptr || roof_.peaks == nullptr) return {};
    const auto ratio = analysis::utilisation_of(*work, step.step_ns(), *roof_.peaks, roof_.device);
    return ratio ? Figure(common::rounded(*ratio * 1000)) : Figure();
  }

  const std::vector<StepFigures>& steps_;
  std::vector<StepWork> work_;  // parallel, or empty
  Roof roof_;
  std::vector<std::string> notes_;
};

Table steps_table(const Timeline& timeline, const StepAnalysis& analysis, const ViewOptions& options) {
  using Row = StepFigures;
  const StepRates rates(timeline, analysis, options);
  const auto part = [](StepPart which) { return [which](const Row& row) { return row.part(which); }; };
  const auto if_items = [](auto get) {
    return [get](const Row& row) { return figure_of(row.items != 0 ? &row : nullptr, get); };
  };
  const auto rate = [](const Row& row) { return analysis::items_per_second_tenths(row.items, row.step_ns()); };
  ColumnsOf<Row> columns;
  columns.count("Step", &Row::number);
  if (of_several_processes(analysis))
    columns.text("Process", [&](const Row& row) { return process_label(timeline, row.process); });
  columns.text("State", [](const Row& row) { return row.skipped   ? "skipped"
                                                    : row.warm_up ? "warm-up"
                                                                  : ""; })
      .naming_rows()
      .if_room(1)
      .if_any();
  columns.time("Time", &Row::step_ns);
  columns.time("Data wait", part(StepPart::kData)).if_any();
  columns.time("Forward", part(StepPart::kForward)).if_any();
  columns.time("Backward", part(StepPart::kBackward)).if_any();
  columns.time("Optimizer", part(StepPart::kOptimizer)).if_any();
  columns.time("Checkpoint", part(StepPart::kCheckpoint)).if_room(4).if_any();
  columns.time("Recompute", part(StepPart::kRecompute)).if_room(5).if_any();
  columns.time("Other", &Row::other_ns).if_room(6);
  columns.time("GPU busy", [](const Row& row) { return if_known(row.device_busy_ns); }).if_any();
  columns.time("GPU idle", [](const Row& row) { return if_known(row.device_idle_ns()); }).if_any();
  rates.add_columns(columns);
  columns.count("Items", if_items(&Row::items)).if_room(7).if_any();
  columns.decimal("Items/s", {}, 1, if_items(rate)).if_room(2).if_any();
  columns.bytes("Peak memory", [](const Row& row) { return if_known(row.peak_bytes); }).if_room(3).if_any();
  columns.timestamp("Begin", &Row::begin_ns).for_programs();
  Table table = columns.table_of(analysis.steps);
  add_notes(analysis, table);
  rates.add_notes(table);
  return table;
}

/// A figure over all steps, or a share of the wall time.
struct SummaryRow {
  std::string figure;
  std::optional<Percentiles> steady;  ///< of single steps
  std::int64_t total_ns = 0;
  std::optional<std::uint64_t> steps;
  std::int64_t rate = 0;
};

/// `value` gives the figure of a step; nothing where it is 0 in all of them.
template <typename Value>
void add_figure(std::vector<SummaryRow>& rows, const StepAnalysis& analysis, const char* name, Value value,
                std::int64_t rate = 0) {
  SummaryRow row{name, {}, 0, 0, rate};
  bool any = false;
  for (const StepFigures& step : analysis.steps) {
    const std::int64_t one = std::invoke(value, step);
    if (one == analysis::kNotKnown) continue;
    row.total_ns = projection::plus(row.total_ns, one);
    any = any || one != 0;
    *row.steps += step.warm_up ? 0 : 1;
  }
  if (!any) return;
  row.steady = of_steady(analysis, value);
  rows.push_back(std::move(row));
}

std::vector<SummaryRow> summary_rows(const StepAnalysis& analysis) {
  std::vector<SummaryRow> rows;
  if (analysis.steps.empty()) return rows;
  const auto figure = [&](const char* name, auto value) { add_figure(rows, analysis, name, value); };
  const auto part = [&](const char* name, StepPart which) {
    figure(name, [which](const StepFigures& step) { return step.part(which); });
  };
  add_figure(rows, analysis, "step time", &StepFigures::step_ns,
             analysis::items_per_second_tenths(analysis.useful_items, analysis.useful_items_ns));
  part("data wait", StepPart::kData);
  part("forward", StepPart::kForward);
  part("backward", StepPart::kBackward);
  part("optimizer", StepPart::kOptimizer);
  part("checkpoint", StepPart::kCheckpoint);
  part("recompute", StepPart::kRecompute);
  figure("other", &StepFigures::other_ns);
  figure("GPU busy", &StepFigures::device_busy_ns);
  figure("GPU idle", &StepFigures::device_idle_ns);
  rows.push_back({"wall", {}, analysis.goodput.wall_ns, analysis.steps.size()});
  rows.push_back({"goodput", {}, analysis.goodput.useful_ns});
  for (const Share& lost : kLost) {
    SummaryRow row{std::string("lost: ") + lost.name, {}, analysis.goodput.*lost.time};
    if (lost.time == &Goodput::warm_up_ns) row.steps = analysis.warm_up;
    if (lost.time == &Goodput::skipped_ns) row.steps = analysis.skipped;
    rows.push_back(std::move(row));
  }
  return rows;
}

Table summary_table(const StepAnalysis& analysis) {
  using Row = SummaryRow;
  const auto percentile = [](std::int64_t Percentiles::*which) {
    return [which](const Row& row) { return figure_of(row.steady ? &*row.steady : nullptr, which); };
  };
  const auto share = [&](const Row& row) { return common::share(row.total_ns, analysis.goodput.wall_ns); };
  ColumnsOf<Row> columns;
  columns.text("Figure", &Row::figure);
  columns.time("p50", percentile(&Percentiles::p50));
  columns.time("p95", percentile(&Percentiles::p95));
  columns.time("p99", percentile(&Percentiles::p99));
  columns.time("Total", &Row::total_ns);
  columns.percent("Share", share);
  columns.count("Steps", &Row::steps);
  columns.decimal("Items/s", {}, 1, [](const Row& row) { return if_that(row.rate != 0, row.rate); }).if_any();
  return columns.table_of(summary_rows(analysis));
}

}  // namespace

Result<Table> make_steps(const ProjectedTimeline& projected, const ViewOptions& options) {
  analysis::StepRules rules;
  if (Status status = rules.apply(options.step_names); !status.ok()) return std::move(status).error();
  const StepAnalysis analysis = analysis::analyse_steps(projected.timeline(), projected.projection(), rules);
  return options.is(kSummary) ? summary_table(analysis) : steps_table(projected.timeline(), analysis, options);
}

}  // namespace rangefinder::report
