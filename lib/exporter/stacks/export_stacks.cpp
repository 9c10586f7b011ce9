// SPDX-License-Identifier: MIT
#include "exporter/chrome/byte_sink.hpp"
#include "exporter/stacks/stack_tree.hpp"
#include "exporter/stacks/writers.hpp"
#include "projection/project.hpp"
#include "projection/split_graph_launches.hpp"

#include <rangefinder/exporters.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace rangefinder {
namespace {

ProjectionOptions projection_of(const StackExportOptions& options) {
  ProjectionOptions out;
  out.attribution = options.attribution;
  return out;
}

std::string name_of_input(const Timeline& timeline) {
  if (timeline.sources.empty()) return "rangefinder";
  const std::string& path = timeline.sources.front();
  return path.substr(path.rfind('/') + 1);
}

Result<stacks::StackTree> tree_of(const Timeline& timeline, const StackExportOptions& options) {
  const Projection projection = projection::project_without_streams(timeline, projection_of(options));
  if (options.time == StackTime::kHost) {
    stacks::StackTree tree = stacks::stacks_by_host(timeline, projection, projection_of(options));
    if (tree.profiles.empty()) return Error(ErrorCode::kNotFound, "export: the input holds no ranges");
    return tree;
  }
  stacks::StackTree tree = stacks::stacks_by_device(timeline, projection);
  if (tree.profiles.empty())
    return Error(ErrorCode::kNotFound, "export: the input holds no device work; stacks by host time show its ranges");
  return tree;
}

void write_tree(const stacks::StackTree& tree, const Timeline& timeline, StackFormat format, chrome::TextOutput& out) {
  switch (format) {
    case StackFormat::kFolded:
      return stacks::write_folded(tree, out);
    case StackFormat::kSpeedscope:
      return stacks::write_speedscope(tree, name_of_input(timeline), out);
    case StackFormat::kHatchet:
      return stacks::write_hatchet(tree, out);
  }
}

/// With launches of CUDA graphs divided as the attribution wants it.
Status write_divided(const Timeline& timeline, const std::string& output, const StackExportOptions& options) {
  Result<stacks::StackTree> tree = tree_of(timeline, options);
  if (!tree) return std::move(tree).error();
  Result<std::unique_ptr<chrome::ByteSink>> sink = chrome::open_output(output, options.replace);
  if (!sink) return std::move(sink).error().with_context("export");
  if (output.ends_with(".gz")) *sink = chrome::gzip_into(std::move(*sink));
  chrome::TextOutput out(**sink);
  write_tree(*tree, timeline, options.format, out);
  out.flush();
  Status status = out.status();
  if (status.ok()) status = (*sink)->finish();
  return status.ok() ? status : Status(std::move(status).error().with_context("export"));
}

}  // namespace

Status export_stacks(const Timeline& timeline, const std::string& output, const StackExportOptions& options) {
  const std::optional<Timeline> divided = projection::with_split_graph_launches(timeline, projection_of(options));
  return write_divided(divided ? *divided : timeline, output, options);
}

Status export_stacks(const std::string& input, const std::string& output, const StackExportOptions& options) {
  LoadOptions load;
  load.max_memory_bytes = options.max_memory_bytes;
  Result<Timeline> timeline = load_timeline(input, load);
  if (!timeline) return std::move(timeline).error().with_context("export");
  (void)split_graph_launches(*timeline, projection_of(options));
  return write_divided(*timeline, output, options);
}

}  // namespace rangefinder
