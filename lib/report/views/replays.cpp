// SPDX-License-Identifier: MIT
#include "analysis/graph_replays.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/pass_columns.hpp"
#include "report/views/path_rows.hpp"
#include "report/views/places.hpp"
#include "report/views/range_paths.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// `replays`: both parents of the work of CUDA graphs: what was captured where, inside which replays it ran.
namespace rangefinder::report {
namespace {

std::string_view word_of(analysis::NotCaptured why) {
  switch (why) {
    case analysis::NotCaptured::kWhole:
      return "(recorded as a whole)";
    case analysis::NotCaptured::kOutside:
      return "(outside any range)";
    case analysis::NotCaptured::kUnknown:
      return "(not known)";
  }
  return {};
}

}  // namespace

Result<Table> make_replays(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  std::vector<analysis::GraphReplays> rows;
  analysis::PathTree tree;
  bool passes = false;
  if (analysis::has_graph_work(timeline)) {
    const std::vector<std::uint32_t> launchers = projected.owners_by(Attribution::kLaunch);
    const Attribution asked = projected.projection_options().attribution;
    std::optional<Projection> by_auto;
    if (asked != Attribution::kCapture && asked != Attribution::kAuto)
      by_auto = projected.projection_by(Attribution::kAuto);
    const Projection& by_capture = by_auto ? *by_auto : projected.projection();
    tree = common::tree_of(projected, by_capture, options);
    rows = analysis::graph_replays(timeline, tree, launchers, by_capture);
    passes = !by_capture.pass.empty();
  }
  const bool bounded = !timeline.conditional_graphs.empty();
  struct Row {
    const analysis::GraphReplays& replays;
    Paths::Node captured_in, replayed_by;
  };
  const auto figure = [](auto member) { return [member](const Row& row) { return row.replays.*member; }; };
  const auto share = [all_ns = projected.projection().account.total.gpu_sum_ns](const Row& row) {
    return common::share(row.replays.gpu_sum_ns, all_ns);
  };
  const auto mean = [](const Row& row) { return common::mean(row.replays.gpu_sum_ns, row.replays.replays); };
  ColumnsOf<Row> columns;
  columns.path("Captured in", &Row::captured_in);
  columns.path("Replayed by", &Row::replayed_by);
  columns.count("Replays", figure(&analysis::GraphReplays::replays));
  columns.count("GPU ops", figure(&analysis::GraphReplays::gpu_ops))
      .if_room(2)
      .bounded_by(common::conditional_title(bounded));
  columns.time("GPU sum", figure(&analysis::GraphReplays::gpu_sum_ns));
  columns.percent("Share", share);
  columns.time("GPU sum avg", mean).if_room(1);
  columns.time("GPU estimated", figure(&analysis::GraphReplays::estimated_ns)).if_any();
  common::add_conditional(columns, bounded, figure(&analysis::GraphReplays::conditional_ops));
  common::add_passes(columns, passes, figure(&analysis::GraphReplays::pass_ns));
  common::add_id_of(columns, "Captured in", &Row::captured_in);
  common::add_id_of(columns, "Replayed by", &Row::replayed_by);
  Table table = columns.table();
  common::add_paths(table, timeline, tree);
  PathWords words(table);
  for (const analysis::GraphReplays& row : rows) {
    const Paths::Node captured = row.captured_in < tree.groups.size()
                                     ? row.captured_in
                                     : words.of(word_of(static_cast<analysis::NotCaptured>(row.captured_in)));
    const Paths::Node replayed =
        row.replayed_by < tree.groups.size() ? row.replayed_by : words.of(unowned_word(row.replayed_by));
    columns.add_row(table, {row, captured, replayed});
  }
  return table;
}

}  // namespace rangefinder::report
