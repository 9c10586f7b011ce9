// SPDX-License-Identifier: MIT
#include "report/view.hpp"
#include "report/views/common_columns.hpp"

#include <rangefinder/analysis/pipeline.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

// `pipeline`: the stages of pipeline parallelism, how long each worked and waited, and how long a pipeline of that
// schedule has to wait at least. A row per pipeline and stage; with --instances for each step.
namespace rangefinder::report {
namespace {

/// One step of a pipeline, or all of them.
struct PipelineTotals {
  std::optional<std::int64_t> number;  ///< of the one step
  std::uint64_t steps = 0;
  std::optional<PipelineSchedule> schedule;  ///< nothing: they differ
  std::int64_t micro_batches = 0;
  std::int64_t flushes = 0;
  std::vector<PipelineStageTimes> stages;

  void add(const PipelineStep& step) {
    schedule = steps == 0 || schedule == step.schedule ? std::optional(step.schedule) : std::nullopt;
    ++steps;
    micro_batches += step.micro_batches;
    flushes += step.flushes;
    stages.resize(step.stages.size());
    for (std::size_t i = 0; i < stages.size(); ++i) {
      stages[i].recorded = stages[i].recorded || step.stages[i].recorded;
      stages[i].span_ns += step.stages[i].span_ns;
      stages[i].busy_ns += step.stages[i].busy_ns;
      stages[i].bubble_ns += step.stages[i].bubble_ns;
      stages[i].most_kept = std::max(stages[i].most_kept, step.stages[i].most_kept);
    }
  }
  /// See PipelineStep::ideal_bubble_ratio.
  double ideal() const {
    const double idle = static_cast<double>(flushes) * (static_cast<double>(stages.size()) - 1);
    return micro_batches > 0 ? idle / (static_cast<double>(micro_batches) + idle) : 0;
  }
  /// Of all stages that were recorded: the sum of what `member` of each is.
  std::int64_t sum(std::int64_t PipelineStageTimes::*member) const {
    std::int64_t all = 0;
    for (const PipelineStageTimes& stage : stages) all += stage.*member;
    return all;
  }
  /// What the stage worked over what the stages worked in the mean; 0: nothing is known.
  double relative_work(std::size_t stage) const {
    const auto recorded =
        std::count_if(stages.begin(), stages.end(), [](const PipelineStageTimes& one) { return one.recorded; });
    const std::int64_t all = sum(&PipelineStageTimes::busy_ns);
    return all <= 0
               ? 0
               : static_cast<double>(stages[stage].busy_ns) * static_cast<double>(recorded) / static_cast<double>(all);
  }
};

PipelineTotals totals_of(const Pipeline& pipeline) {
  PipelineTotals all;
  for (const PipelineStep& step : pipeline.steps) all.add(step);
  return all;
}

struct PipelineRow {
  std::size_t pipeline;  ///< from 1
  const PipelineStage& stage;
  std::size_t index;  ///< of the stage
  const PipelineTotals& totals;

  const PipelineStageTimes& times() const { return totals.stages[index]; }
};

std::string schedule_text(const PipelineTotals& totals) {
  return totals.schedule ? to_string(*totals.schedule) : "differs";
}

std::string percent_text(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", ratio * 100);
  return text;
}

ColumnsOf<PipelineRow> columns_of(bool instances) {
  using Row = PipelineRow;
  const auto if_recorded = [](auto get) {
    return [get](const Row& row) { return if_that(row.times().recorded, get(row)); };
  };
  const auto time = [&](std::int64_t PipelineStageTimes::*member) {
    return if_recorded([member](const Row& row) { return row.times().*member; });
  };
  ColumnsOf<Row> columns;
  columns.text("Pipeline", [](const Row& row) { return std::to_string(row.pipeline); });
  if (instances) columns.count("Step", [](const Row& row) { return row.totals.number; });
  columns.count("Stage", [](const Row& row) { return static_cast<std::int64_t>(row.index); });
  columns.count("Rank", [](const Row& row) { return row.stage.rank; });
  columns.text("Schedule", [](const Row& row) { return schedule_text(row.totals); }).if_room(1);
  if (!instances) columns.count("Steps", [](const Row& row) { return row.totals.steps; }).if_room(4);
  columns.count("Micro-batches", [](const Row& row) { return row.totals.micro_batches; }).if_room(2);
  columns.count("Kept", if_recorded([](const Row& row) { return row.times().most_kept; })).if_room(5);
  columns.time("Span", time(&PipelineStageTimes::span_ns));
  columns.time("Busy", time(&PipelineStageTimes::busy_ns));
  columns.time("Bubble", time(&PipelineStageTimes::bubble_ns));
  columns.percent("Bubble share", if_recorded([](const Row& row) {
                    return common::share(row.times().bubble_ns, row.times().span_ns);
                  }));
  columns.percent("Ideal", [](const Row& row) { return common::rounded(row.totals.ideal() * 1000); });
  columns
      .decimal("Busy of mean", "", 2,
               if_recorded([](const Row& row) { return common::rounded(row.totals.relative_work(row.index) * 100); }))
      .if_room(3);
  columns.text("Work of", [](const Row& row) { return row.stage.on_device ? "device" : "host"; }).if_room(6);
  return columns;
}

/// "0, 1, 2, 3"
template <typename Ranks, typename Get>
std::string listed(const Ranks& ranks, Get rank_of) {
  std::string text;
  for (const auto& rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank_of(rank));
  return text;
}

std::string finding(std::size_t number, const Pipeline& pipeline, const PipelineTotals& totals) {
  const double steps = static_cast<double>(totals.steps);
  const std::int64_t span = totals.sum(&PipelineStageTimes::span_ns);
  const std::int64_t bubble = totals.sum(&PipelineStageTimes::bubble_ns);
  char micro_batches[32];
  std::snprintf(micro_batches, sizeof micro_batches, "%.4g", static_cast<double>(totals.micro_batches) / steps);
  std::string text = "pipeline " + std::to_string(number) + ": ranks " +
                     listed(pipeline.stages, [](const PipelineStage& stage) { return stage.rank; }) + "; schedule " +
                     schedule_text(totals) + ", micro-batches a step: " + micro_batches;
  if (span > 0)
    text += "; stages wait " + percent_text(static_cast<double>(bubble) / static_cast<double>(span)) +
            " of their time, at least " + percent_text(totals.ideal()) + " with this schedule";
  std::size_t slowest = 0;
  for (std::size_t i = 1; i < totals.stages.size(); ++i)
    if (totals.stages[i].busy_ns > totals.stages[slowest].busy_ns) slowest = i;
  if (const double work = totals.relative_work(slowest); work > 1) {
    char times[32];
    std::snprintf(times, sizeof times, "%.2f", work);
    text += "; stage " + std::to_string(slowest) + " works most, " + times + " times the mean";
  }
  return text;
}

void add_notes(const Timeline& timeline, const Pipelines& found, Table& table) {
  for (std::size_t i = 0; i < found.pipelines.size(); ++i) {
    const Pipeline& pipeline = found.pipelines[i];
    const std::string name = "pipeline " + std::to_string(i + 1);
    table.note(finding(i + 1, pipeline, totals_of(pipeline)));
    if (pipeline.order_assumed)
      table.note(name + ": nothing tells which end is the first stage; it is taken to be the one with the lower rank");
    if (!pipeline.common_clock)
      table.note(name +
                 ": clocks of the hosts are known by wall clock alone: the span of a rank does not hold what it waited "
                 "before and behind its step");
    for (const PipelineStage& stage : pipeline.stages)
      if (stage.process == kNone) table.note(name + ": there is no recording of rank " + std::to_string(stage.rank));
  }
  for (const RefusedPipeline& refused : found.refused)
    table.note("pipeline: " +
               (refused.ranks.empty()
                    ? std::string()
                    : "ranks " + listed(refused.ranks, [](std::int64_t rank) { return rank; }) + " are no pipeline: ") +
               refused.reason);
  if (found.pipelines.empty() && found.refused.empty())
    table.note("pipeline: no rank sends to another one or receives from it, so there is no pipeline to see");
  if (!found.pipelines.empty() && timeline.steps.empty())
    table.note("pipeline: this input has no steps (call session.step()): all of it counts as one");
}

}  // namespace

Result<Table> make_pipeline(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  const Pipelines found = find_pipelines(timeline);
  const ColumnsOf<PipelineRow> columns = columns_of(options.instances);
  Table table = columns.table();
  const auto add_rows = [&](std::size_t pipeline, const PipelineTotals& totals) {
    const std::vector<PipelineStage>& stages = found.pipelines[pipeline].stages;
    for (std::size_t i = 0; i < stages.size(); ++i) columns.add_row(table, {pipeline + 1, stages[i], i, totals});
  };
  for (std::size_t i = 0; i < found.pipelines.size(); ++i) {
    if (!options.instances) {
      add_rows(i, totals_of(found.pipelines[i]));
      continue;
    }
    for (const PipelineStep& step : found.pipelines[i].steps) {
      PipelineTotals one;
      one.add(step);
      one.number = step.number;
      add_rows(i, one);
    }
  }
  add_notes(timeline, found, table);
  return table;
}

}  // namespace rangefinder::report
