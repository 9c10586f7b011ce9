// SPDX-License-Identifier: MIT
#include "analysis/steps.hpp"

#include "projection/figures.hpp"
#include "report/units.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
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
using own::if_any;
using own::if_room;

std::int64_t or_null(std::int64_t value) { return value == analysis::kNotKnown ? kNull : value; }

std::int64_t as_count(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
}

std::string process_name(const Timeline& timeline, ProcessIndex index) {
  const ProcessInfo& process = timeline.processes[index];
  return process.rank >= 0 ? "rank " + std::to_string(process.rank) : std::to_string(process.pid);
}

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

std::string percent(std::int64_t part, std::int64_t whole) { return plain_number(own::share(part, whole), 1) + " %"; }

/// One figure of every steady step.
template <typename Figure>
Percentiles of_steady(const StepAnalysis& analysis, Figure figure) {
  std::vector<std::int64_t> values;
  for (const StepFigures& step : analysis.steps)
    if (!step.warm_up) values.push_back(figure(step));
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
  const Percentiles time = of_steady(analysis, [](const StepFigures& step) { return step.step_ns(); });
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

Table steps_table(const Timeline& timeline, const StepAnalysis& analysis) {
  const bool several = of_several_processes(analysis);
  std::vector<Column> columns{own::count("Step")};
  if (several) columns.push_back(own::text("Process"));
  const std::size_t name_column = columns.size();
  for (Column column : {if_room(1, if_any(own::text("State"))), own::time("Time"), if_any(own::time("Data wait")),
                        if_any(own::time("Forward")), if_any(own::time("Backward")), if_any(own::time("Optimizer")),
                        if_room(4, if_any(own::time("Checkpoint"))), if_room(5, if_any(own::time("Recompute"))),
                        if_room(6, own::time("Other")), if_any(own::time("GPU busy")), if_any(own::time("GPU idle")),
                        if_room(7, if_any(own::count("Items"))), if_room(2, if_any(own::decimal("Items/s", {}, 1))),
                        if_room(3, if_any(own::bytes("Peak memory")))})
    columns.push_back(std::move(column));
  columns.push_back(own::for_programs(own::timestamp("Begin")));
  Table table(std::move(columns), name_column);
  for (const StepFigures& step : analysis.steps) {
    table.number(step.number);
    if (several) table.text(process_name(timeline, step.process));
    table.text(step.skipped ? "skipped" : step.warm_up ? "warm-up" : "").number(step.step_ns());
    for (const StepPart part : {StepPart::kData, StepPart::kForward, StepPart::kBackward, StepPart::kOptimizer,
                                StepPart::kCheckpoint, StepPart::kRecompute})
      table.number(step.part(part));
    table.number(step.other_ns)
        .number(or_null(step.device_busy_ns))
        .number(or_null(step.device_idle_ns()))
        .optional(step.items != 0, as_count(step.items))
        .optional(step.items != 0, analysis::items_per_second_tenths(step.items, step.step_ns()))
        .number(or_null(step.peak_bytes))
        .number(step.begin_ns);
  }
  add_notes(analysis, table);
  return table;
}

/// One row per figure over all steps, then one row per share of the wall time.
Table summary_table(const StepAnalysis& analysis) {
  Table table({own::text("Figure"), own::time("p50"), own::time("p95"), own::time("p99"), own::time("Total"),
               own::percent("Share"), own::count("Steps"), if_any(own::decimal("Items/s", {}, 1))});
  const std::int64_t wall = analysis.goodput.wall_ns;
  const auto figure = [&](const char* name, auto value, std::int64_t rate) {
    std::int64_t total = 0;
    std::int64_t known = 0;
    bool any = false;
    for (const StepFigures& step : analysis.steps) {
      const std::int64_t one = value(step);
      if (one == analysis::kNotKnown) continue;
      total = projection::plus(total, one);
      any = any || one != 0;
      known += step.warm_up ? 0 : 1;
    }
    if (!any) return;
    const Percentiles steady = of_steady(analysis, value);
    table.text(name).number(steady.p50).number(steady.p95).number(steady.p99).number(total);
    table.number(own::share(total, wall)).number(known).optional(rate != 0, rate);
  };
  const auto part = [&](const char* name, StepPart which) {
    figure(
        name, [which](const StepFigures& step) { return step.part(which); }, 0);
  };
  figure(
      "step time", [](const StepFigures& step) { return step.step_ns(); },
      analysis::items_per_second_tenths(analysis.useful_items, analysis.useful_items_ns));
  part("data wait", StepPart::kData);
  part("forward", StepPart::kForward);
  part("backward", StepPart::kBackward);
  part("optimizer", StepPart::kOptimizer);
  part("checkpoint", StepPart::kCheckpoint);
  part("recompute", StepPart::kRecompute);
  figure(
      "other", [](const StepFigures& step) { return step.other_ns; }, 0);
  figure(
      "GPU busy", [](const StepFigures& step) { return step.device_busy_ns; }, 0);
  figure(
      "GPU idle", [](const StepFigures& step) { return step.device_idle_ns(); }, 0);
  const auto share = [&](const std::string& name, std::int64_t time, std::int64_t steps) {
    table.text(name).null().null().null().number(time).number(own::share(time, wall)).number(steps).null();
  };
  if (analysis.steps.empty()) return table;
  share("wall", wall, as_count(analysis.steps.size()));
  share("goodput", analysis.goodput.useful_ns, kNull);
  for (const Share& lost : kLost) {
    const bool counted = lost.time == &Goodput::warm_up_ns || lost.time == &Goodput::skipped_ns;
    const std::uint64_t steps = lost.time == &Goodput::warm_up_ns ? analysis.warm_up : analysis.skipped;
    share(std::string("lost: ") + lost.name, analysis.goodput.*lost.time, counted ? as_count(steps) : kNull);
  }
  return table;
}

Result<Table> make_steps(const Subject& subject, const ViewOptions& options) {
  analysis::StepRules rules;
  if (Status status = rules.apply(options.step_names); !status.ok()) return std::move(status).error();
  const StepAnalysis analysis = analysis::analyse_steps(subject.timeline(), subject.projection(), rules);
  return options.summary ? summary_table(analysis) : steps_table(subject.timeline(), analysis);
}

}  // namespace

namespace views_list {
extern const View steps{"steps",     "Steps of a loop: their parts, device, items, warm-up and goodput",
                        kNeedsSteps, "summary",
                        false,       make_steps};
}  // namespace views_list

}  // namespace rangefinder::report
