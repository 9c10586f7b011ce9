// SPDX-License-Identifier: MIT
#include "report/attribution_notes.hpp"
#include "report/csv.hpp"
#include "report/find_column.hpp"
#include "report/footer.hpp"
#include "report/json.hpp"
#include "report/overview.hpp"
#include "report/text_table.hpp"
#include "report/view.hpp"

#include <rangefinder/report.hpp>

#include <optional>

namespace rangefinder {
namespace {

using report::kColumnsHelp;

bool wants_overview(const ReportOptions& options, const report::View& view, const Timeline& timeline) {
  return options.overview && view.name == std::string_view("ranges") && options.format != ReportFormat::kCsv &&
         !options.instances && options.columns != kColumnsHelp && options.filter.empty() && options.payload.empty() &&
         timeline.end_ns > timeline.begin_ns;
}

}  // namespace

std::vector<ReportViewInfo> report_views() {
  std::vector<ReportViewInfo> out;
  for (const report::View* view : report::views()) out.push_back({view->name, view->description, view->compatible});
  return out;
}

void prepare_for_report(Timeline& timeline, const ReportOptions& options) {
  report::ViewOptions wanted;
  const Result<const report::View*> view = report::find_view(options.view, wanted);
  if (view.ok() && !(*view)->compatible) (void)split_graph_launches(timeline, options.projection);
}

Status write_report(const Timeline& timeline, const ReportOptions& options,
                    const std::function<bool(std::string_view)>& sink) {
  const report::Sink checked = [&](std::string_view text) -> Status {
    if (sink(text)) return {};
    return Error(ErrorCode::kIo, "report: cannot write the output");
  };
  report::ViewOptions wanted{options};
  Result<const report::View*> view = report::find_view(options.view, wanted);
  if (!view) return std::move(view).error();
  const report::ProjectedTimeline projected(timeline, options.projection);
  report::Footer footer;
  if (options.format != ReportFormat::kCsv) {
    footer = report::make_footer(timeline, projected.projection().account);
    if ((*view)->compatible) projected.forget_projection();  // those views have one of their own
  }
  std::optional<report::Overview> overview;
  if (wants_overview(options, **view, timeline)) overview = report::make_overview(projected, footer);
  Result<report::Table> table = report::make_table(**view, projected, wanted);
  if (!table) return std::move(table).error();
  if (options.columns == kColumnsHelp) *table = report::columns_of(*table);
  if (options.format == ReportFormat::kCsv) {
    report::CsvOptions csv = report::csv_options_for(**view);
    csv.terminal = options.terminal;
    return report::write_csv(*table, csv, checked);
  }

  const report::TextOptions text{options.utf8, options.colour, options.width};
  if (options.columns == kColumnsHelp && options.format == ReportFormat::kText)
    return report::write_text(*table, text, checked);
  if (!options.absolute_times) table->set_time_origin(timeline.begin_ns);
  footer.notes.insert(footer.notes.end(), table->notes().begin(), table->notes().end());
  if (!(*view)->compatible && timeline.activities.size() != 0)  // those are by launch, whatever was asked for
    for (std::string& note : report::attribution_notes(projected)) footer.notes.push_back(std::move(note));
  if (std::string cost = report::profiling_note(timeline); !cost.empty()) footer.notes.push_back(std::move(cost));
  if (std::string missing = report::missing_for(**view, timeline); !missing.empty())
    footer.notes.push_back(std::move(missing));
  else if (table->row_count() == 0 && table->hidden_rows() == 0 && table->notes().empty())
    footer.notes.push_back(std::string((*view)->name) + ": this input has no such data");
  if (options.format == ReportFormat::kJson) {
    std::string members = "\"begin_ns\": " + std::to_string(timeline.begin_ns);
    if (overview) append_json_member(members += ",\n  ", *overview, timeline);
    return report::write_json(*table, (*view)->name, footer, checked, members);
  }
  if (overview)
    if (Status status = checked(to_text(*overview, timeline, text) + "\n"); !status.ok()) return status;
  Status status = report::write_text(*table, text, checked);
  return status.ok() ? checked("\n" + report::to_text(footer, text)) : status;
}

Result<std::string> render_report(const std::string& path, const ReportOptions& options) {
  Result<Timeline> timeline = load_timeline(path);
  if (!timeline) return timeline.error();
  prepare_for_report(*timeline, options);
  std::string out;
  Status status = write_report(*timeline, options, [&](std::string_view text) {
    out.append(text);
    return true;
  });
  if (!status.ok()) return std::move(status).error();
  return out;
}

}  // namespace rangefinder
