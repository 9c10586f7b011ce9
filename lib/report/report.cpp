// SPDX-License-Identifier: MIT
#include "analysis/profiling_cost.hpp"
#include "base/file.hpp"
#include "capture/capture_reader.hpp"
#include "importer/capture/load_captures.hpp"
#include "projection/split_graph_launches.hpp"
#include "report/rendering.hpp"
#include "report/view.hpp"
#include "report/windowed_report.hpp"

#include <rangefinder/report.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder {
namespace {

report::Sink checked(const std::function<bool(std::string_view)>& sink) {
  return [&sink](std::string_view text) -> Status {
    if (sink(text)) return {};
    return Error(ErrorCode::kIo, "report: cannot write the output");
  };
}

/// Of a timeline whose launches of graphs are divided, if the view wants that.
Status write_prepared(const Timeline& timeline, const report::View& view, const report::ViewOptions& wanted,
                      const ReportOptions& options, const std::function<bool(std::string_view)>& sink) {
  const report::ProjectedTimeline projected(timeline, options.projection);
  report::Footer footer;
  if (options.format != ReportFormat::kCsv) {
    footer = report::make_footer(timeline, projected.projection().account);
    if (view.compatible) projected.forget_projection();  // those views have one of their own
  }
  std::optional<report::Overview> overview;
  if (report::wants_overview(options, view) && timeline.end_ns > timeline.begin_ns)
    overview = report::make_overview(projected, footer);
  Result<report::Table> table = report::make_table(view, projected, wanted);
  if (!table) return std::move(table).error();
  report::Rendering rendering{view, timeline, std::move(*table), std::move(footer), std::move(overview)};
  if (options.format != ReportFormat::kCsv) {
    if (!view.compatible) rendering.attribution.add(timeline, projected.projection());
    rendering.profiler_ns = analysis::profiler_ns(timeline);
    rendering.recorded_ns = analysis::recorded_ns(timeline);
    rendering.missing = report::missing_for(view, timeline);
  }
  return report::write(std::move(rendering), options, checked(sink));
}

}  // namespace

std::vector<ReportViewInfo> report_views() {
  std::vector<ReportViewInfo> out;
  for (const report::View* view : report::views()) out.push_back({view->name, view->description, view->compatible});
  return out;
}

Status write_report(const Timeline& timeline, const ReportOptions& options,
                    const std::function<bool(std::string_view)>& sink) {
  report::ViewOptions wanted{options};
  const Result<const report::View*> view = report::find_view(options.view, wanted);
  if (!view) return view.error();
  std::optional<Timeline> divided;
  if (!(*view)->compatible) divided = projection::with_split_graph_launches(timeline, options.projection);
  return write_prepared(divided ? *divided : timeline, **view, wanted, options, sink);
}

Status report_files(const std::vector<std::string>& paths, const LoadOptions& given, const ReportOptions& options,
                    const std::function<bool(std::string_view)>& sink) {
  report::ViewOptions wanted{options};
  const Result<const report::View*> view = report::find_view(options.view, wanted);
  if (!view) return view.error();
  LoadOptions load = given;
  load.operator_inputs = load.operator_inputs || ((*view)->needs & report::kReadsInputs) != 0;
  if (report::adds_up(**view, wanted) && paths.size() == 1 && !base::is_directory(paths.front()) &&
      !base::is_special(paths.front())) {
    Result<capture::CaptureReader> reader = capture::CaptureReader::open(paths.front());
    if (reader.ok() && report::is_long(*reader)) {
      std::uint64_t unpacked = 0;
      if (Status status = importer::check_size(*reader, unpacked, load); !status.ok()) return status;
      Status written = report::write_windowed_report(*reader, load, **view, wanted, {}, checked(sink));
      // What windows cannot answer, as where very many ranges are inside of each other, a loaded timeline may.
      if (written.ok() || written.error().code() != ErrorCode::kUnsupported) return written;
    }
  }
  Result<Timeline> timeline = load_job(paths, load);
  if (!timeline) return timeline.error();
  if (!(*view)->compatible) (void)split_graph_launches(*timeline, options.projection);
  return write_prepared(*timeline, **view, wanted, options, sink);
}

Result<std::string> render_report(const std::string& path, const ReportOptions& options) {
  std::string out;
  Status status = report_files({path}, {}, options, [&](std::string_view text) {
    out.append(text);
    return true;
  });
  if (!status.ok()) return std::move(status).error();
  return out;
}

}  // namespace rangefinder
