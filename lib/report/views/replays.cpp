// SPDX-License-Identifier: MIT
#include "analysis/graph_replays.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"
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

Result<Table> make_replays(const Subject& subject, const ViewOptions& options) {
  const Timeline& timeline = subject.timeline();
  std::vector<analysis::GraphReplays> rows;
  analysis::PathTree tree;
  bool passes = false;
  if (analysis::has_graph_work(timeline)) {
    const std::vector<std::uint32_t> launchers = subject.owners_by(Attribution::kLaunch);
    const Attribution asked = subject.projection_options().attribution;
    std::optional<Projection> by_auto;
    if (asked != Attribution::kCapture && asked != Attribution::kAuto)
      by_auto = subject.projection_by(Attribution::kAuto);
    const Projection& by_capture = by_auto ? *by_auto : subject.projection();
    tree = analysis::range_tree(timeline, by_capture, subject.projection_options(), own::folding_of(options),
                                analysis::HostSpread::kNotWanted);
    rows = analysis::graph_replays(timeline, tree, launchers, by_capture);
    passes = !by_capture.pass.empty();
  }
  const bool bounded = !timeline.conditional_graphs.empty();
  std::vector<Column> columns{own::path("Captured in"),
                              own::path("Replayed by"),
                              own::count("Replays"),
                              own::may_be_more(bounded, own::if_room(2, own::count("GPU ops"))),
                              own::time("GPU sum"),
                              own::percent("Share"),
                              own::if_room(1, own::time("GPU sum avg")),
                              own::if_any(own::time("GPU estimated"))};
  own::add_bound_column(columns, bounded);
  own::add_pass_columns(columns, passes);
  columns.push_back(own::id_of("Captured in"));
  columns.push_back(own::id_of("Replayed by"));
  Table table(std::move(columns));
  own::add_paths(table, timeline, tree);
  PathWords words(table);
  for (const analysis::GraphReplays& row : rows) {
    const Paths::Node captured = row.captured_in < tree.groups.size()
                                     ? row.captured_in
                                     : words.of(word_of(static_cast<analysis::NotCaptured>(row.captured_in)));
    const Paths::Node replayed =
        row.replayed_by < tree.groups.size() ? row.replayed_by : words.of(unowned_word(row.replayed_by));
    table.path(captured)
        .path(replayed)
        .number(static_cast<std::int64_t>(row.replays))
        .number(static_cast<std::int64_t>(row.gpu_ops))
        .number(row.gpu_sum_ns)
        .number(own::share(row.gpu_sum_ns, subject.projection().account.total.gpu_sum_ns))
        .number(own::mean(row.gpu_sum_ns, row.replays))
        .number(row.estimated_ns);
    own::add_bound(table, bounded, row.conditional_ops);
    own::add_passes(table, passes, row.pass_ns);
    own::add_id(table, captured);
    own::add_id(table, replayed);
  }
  return table;
}

}  // namespace

namespace views_list {
extern const View replays{"replays",
                          "Work of CUDA graphs by capturing range and replaying range",
                          kNeedsActivities | kNeedsGraphs,
                          {},
                          false,
                          make_replays};
}  // namespace views_list

}  // namespace rangefinder::report
