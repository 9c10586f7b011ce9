// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "exporter/chrome/byte_sink.hpp"
#include "exporter/html/html_document.hpp"
#include "projection/split_graph_launches.hpp"

#include <rangefinder/exporters.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace rangefinder {
namespace {

/// Operators stand in for ranges where the recording has none of its own.
ProjectionOptions projection_of(const Timeline& timeline, const HtmlExportOptions& options) {
  const auto& kinds = timeline.ranges.kind;
  const bool annotated = std::find(kinds.begin(), kinds.end(), RangeKind::kAnnotation) != kinds.end();
  return {options.attribution, true, !annotated};
}

std::string title_of(const Timeline& timeline, const HtmlExportOptions& options) {
  if (!options.title.empty()) return options.title;
  if (timeline.sources.empty()) return "recording";
  std::string title(base::file_name(timeline.sources.front()));
  if (timeline.sources.size() > 1) title += " and " + std::to_string(timeline.sources.size() - 1) + " more";
  return title;
}

/// Of a timeline whose launches of graphs are divided.
Status write_divided(const Timeline& timeline, const std::string& output, const HtmlExportOptions& options,
                     HtmlExportReport* report) {
  HtmlExportReport mine;
  HtmlExportReport& said = report != nullptr ? *report : mine;
  said = {};
  constexpr std::uint64_t kFewestSlices = 1000;
  if (options.most_slices < kFewestSlices)
    return Error(ErrorCode::kInvalidArgument,
                 "most_slices " + std::to_string(options.most_slices) + ": at least 1,000");
  const ProjectionOptions wanted = projection_of(timeline, options);
  const report::ProjectedTimeline projected(timeline, wanted, project(timeline, wanted), {});
  Result<std::unique_ptr<chrome::ByteSink>> sink = chrome::open_output(output, options.replace);
  if (!sink) return std::move(sink).error();
  const auto write = [&](std::string_view text) { return (*sink)->write(text); };
  Status status = html::write_page({timeline, projected, options}, title_of(timeline, options), write, said);
  if (status.ok()) status = (*sink)->finish();
  said.policy = html::page_policy();
  return status;
}

/// What LoadOptions::progress needs to hand on.
struct Watched {
  const HtmlExportOptions& options;
  bool ended = false;

  static void update(void* self, std::uint64_t done, std::uint64_t total) {
    auto& watched = *static_cast<Watched*>(self);
    const HtmlExportOptions& options = watched.options;
    if (!watched.ended && options.progress != nullptr)
      watched.ended = !options.progress(options.progress_user, done, total);
  }
};

}  // namespace

Status export_html(const Timeline& timeline, const std::string& output, const HtmlExportOptions& options,
                   HtmlExportReport* report) {
  const std::optional<Timeline> divided =
      projection::with_split_graph_launches(timeline, projection_of(timeline, options));
  Status status = write_divided(divided ? *divided : timeline, output, options, report);
  return status.ok() ? status : Status(std::move(status).error().with_context("export"));
}

Status export_html(const std::string& input, const std::string& output, const HtmlExportOptions& options,
                   HtmlExportReport* report) {
  Watched watched{options};
  LoadOptions load;
  load.operator_inputs = true;  // for the roofline
  load.max_memory_bytes = options.max_memory_bytes;
  load.progress = Watched::update;
  load.progress_user = &watched;
  Result<Timeline> timeline = load_timeline(input, load);
  if (!timeline) return std::move(timeline).error().with_context("export");
  if (watched.ended)
    return Error(ErrorCode::kIncomplete, "export: ended by the progress function; nothing was written to " + output);
  (void)split_graph_launches(*timeline, projection_of(*timeline, options));
  Status status = write_divided(*timeline, output, options, report);
  return status.ok() ? status : Status(std::move(status).error().with_context("export"));
}

}  // namespace rangefinder
