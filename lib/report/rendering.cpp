// SPDX-License-Identifier: MIT
#include "report/rendering.hpp"

#include "report/attribution_notes.hpp"
#include "report/csv.hpp"
#include "report/find_column.hpp"
#include "report/json.hpp"
#include "report/text_table.hpp"

#include <utility>

namespace rangefinder::report {
namespace {

void add_notes(Rendering& rendering, const ReportOptions& options) {
  std::vector<std::string>& notes = rendering.footer.notes;
  const Table& table = rendering.table;
  notes.insert(notes.end(), table.notes().begin(), table.notes().end());
  if (!rendering.view.compatible)  // those are by launch, whatever was asked for
    for (std::string& note :
         attribution_notes(rendering.attribution, rendering.timeline, options.projection.attribution))
      notes.push_back(std::move(note));
  if (std::string cost = profiling_note(rendering.profiler_ns, rendering.recorded_ns); !cost.empty())
    notes.push_back(std::move(cost));
  if (!rendering.missing.empty())
    notes.push_back(std::move(rendering.missing));
  else if (table.row_count() == 0 && table.hidden_rows() == 0 && table.notes().empty())
    notes.push_back(std::string(rendering.view.name) + ": this input has no such data");
}

}  // namespace

bool wants_overview(const ReportOptions& options, const View& view) noexcept {
  return options.overview && view.name == std::string_view("ranges") && options.format != ReportFormat::kCsv &&
         !options.instances && options.columns != kColumnsHelp && options.filter.empty() && options.payload.empty();
}

Status write(Rendering rendering, const ReportOptions& options, const Sink& sink) {
  Table& table = rendering.table;
  const Timeline& timeline = rendering.timeline;
  if (options.columns == kColumnsHelp) table = columns_of(table);
  if (options.format == ReportFormat::kCsv) {
    CsvOptions csv = csv_options_for(rendering.view);
    csv.terminal = options.terminal;
    return write_csv(table, csv, sink);
  }
  const TextOptions text{options.utf8, options.colour, options.width};
  if (options.columns == kColumnsHelp && options.format == ReportFormat::kText) return write_text(table, text, sink);
  if (!options.absolute_times) table.set_time_origin(timeline.begin_ns);
  add_notes(rendering, options);
  if (options.format == ReportFormat::kJson) {
    std::string members = "\"begin_ns\": " + std::to_string(timeline.begin_ns);
    if (rendering.overview) append_json_member(members += ",\n  ", *rendering.overview, timeline);
    return write_json(table, rendering.view.name, rendering.footer, sink, members);
  }
  if (rendering.overview)
    if (Status status = sink(to_text(*rendering.overview, timeline, text) + "\n"); !status.ok()) return status;
  Status status = table.prose().empty() ? write_text(table, text, sink) : sink(table.prose());
  return status.ok() ? sink("\n" + to_text(rendering.footer, text)) : status;
}

}  // namespace rangefinder::report
