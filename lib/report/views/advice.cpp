// SPDX-License-Identifier: MIT
#include "report/advice_text.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"

#include <rangefinder/analysis/advice.hpp>

#include <cstdint>
#include <string>
#include <vector>

// `advice`: what to change so that steps get shorter. A row per finding, then one per rule that could not be judged.
namespace rangefinder::report {
namespace {

struct AdviceTableRow {
  const AdviceFinding* finding = nullptr;
  const AdviceAbstention* abstention = nullptr;

  AdviceRule rule() const { return finding != nullptr ? finding->rule : abstention->rule; }
};

/// "step/forward: cudaStreamSynchronize in aten::item, 8 a step, 1240000 ns".
std::string evidence_text(const AdviceFinding& finding, bool has_steps) {
  std::string text;
  for (const AdviceEvidence& row : finding.evidence) {
    text += text.empty() ? "" : "; ";
    if (!row.where.empty()) text += row.where + ": ";
    text += row.what + (row.op.empty() ? "" : " in " + row.op) + ", " + std::to_string(row.count) +
            (has_steps && row.time_ns != 0 ? " a step" : "");
    if (row.time_ns != 0) text += ", " + std::to_string(row.time_ns) + " ns";
  }
  return text;
}

/// Whether a user asked for rows.
bool wants_rows(const ViewOptions& options) {
  return options.format != ReportFormat::kText || !options.columns.empty() || !options.filter.empty() ||
         !options.sort.empty() || options.top != 0;
}

ColumnsOf<AdviceTableRow> columns_of(const Advice& advice) {
  using Row = AdviceTableRow;
  const auto of_finding = [](auto get) { return [get](const Row& row) { return figure_of(row.finding, get); }; };
  ColumnsOf<Row> columns;
  columns.text("Rule", [](const Row& row) { return to_string(row.rule()); });
  columns.text("State", [](const Row& row) { return row.finding != nullptr ? "found" : "not judged"; }).if_room(2);
  columns.time("Gain", of_finding([](const AdviceFinding& finding) { return finding.gain_ns; }));
  columns.percent("Gain share", of_finding([&advice](const AdviceFinding& finding) {
                    return if_that(advice.step_ns > 0, common::share(finding.gain_ns, advice.step_ns));
                  }));
  columns.time("Own gain", of_finding([](const AdviceFinding& finding) { return finding.own_gain_ns; })).if_room(3);
  columns
      .bytes("Gain in bytes", of_finding([](const AdviceFinding& finding) {
               return if_that(finding.gain_bytes > 0, finding.gain_bytes);
             }))
      .if_any();
  columns.text("Range", of_finding([](const AdviceFinding& finding) { return finding.range; })).if_room(1);
  columns.text("Finding",
               [](const Row& row) { return row.finding != nullptr ? row.finding->headline : row.abstention->missing; });
  columns
      .text("Evidence", of_finding([has_steps = advice.steps != 0](const AdviceFinding& finding) {
              return evidence_text(finding, has_steps);
            }))
      .for_programs();
  columns.text("Change", of_finding([](const AdviceFinding& finding) { return finding.change; })).for_programs();
  columns.text("Check", of_finding([](const AdviceFinding& finding) { return finding.check; })).for_programs();
  return columns;
}

}  // namespace

Result<Table> make_advice(const ProjectedTimeline& projected, const ViewOptions& options) {
  AdviceOptions wanted;
  wanted.peaks = options.peaks;
  wanted.projection = projected.projection_options();
  const Advice advice = advise(projected.timeline(), wanted);
  std::vector<AdviceTableRow> rows;
  for (const AdviceFinding& finding : advice.findings) rows.push_back({&finding, nullptr});
  for (const AdviceAbstention& abstention : advice.abstentions) rows.push_back({nullptr, &abstention});
  Table table = columns_of(advice).table_of(rows);
  if (wants_rows(options))
    table.note("advice: " + advice.verdict);
  else
    table.set_prose(advice_text(advice, {options.utf8, options.colour, options.width}));
  return table;
}

}  // namespace rangefinder::report
