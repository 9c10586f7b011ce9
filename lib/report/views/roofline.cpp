// SPDX-License-Identifier: MIT
#include "analysis/roofline.hpp"

#include "analysis/bandwidth_operators.hpp"
#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/path_rows.hpp"
#include "report/views/roof.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// `roofline`: what ranges computed and moved in their time, and how near that is to what the machine can do;
// `roofline_operators`: the same of operators.
namespace rangefinder::report {
namespace {

using analysis::LeastTime;
using analysis::Work;
using common::rounded;

/// Empty where no operator was counted.
std::vector<Work> by_group(const analysis::PathTree& tree, const analysis::WorkByShapes& work) {
  if (work.counted == 0) return {};
  std::vector<Work> groups(tree.groups.size());
  for (RangeIndex range{0}; range < work.ranges.size(); ++range)
    if (tree.group_of[range] != kNone) groups[tree.group_of[range]] += work.ranges[range];
  for (std::uint32_t group = static_cast<std::uint32_t>(groups.size()); group-- > 0;)  // parents come before children
    if (tree.groups[group].parent != kNone) groups[tree.groups[group].parent] += groups[group];
  return groups;
}

/// "bf16", or the types in order of their operations where there are several: "bf16+fp32".
std::string types_of(const Work& work) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < analysis::kPrecisions; ++i)
    if (work.flops[i] > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return work.flops[a] > work.flops[b]; });
  std::string out;
  for (const std::size_t i : order)
    out.append(out.empty() ? "" : "+").append(analysis::name_of(static_cast<analysis::Precision>(i)));
  return out;
}

/// What a row is about: work, the time that it took, and where its figures are from.
struct RoofRow {
  Paths::Node path = Paths::kNothing;
  StringId operators = StringId::kEmpty;  ///< their name, in the place of a path
  std::uint64_t calls = 0;
  const char* on = "";
  Work work;
  std::optional<std::int64_t> time_ns;
  const char* source = "none";
  std::int64_t known_permille = 0;
  bool scaled = false;  // bytes of a part of the time
  /// What the machine needs for it at least; nothing where the row's time or a peak is not known.
  std::optional<LeastTime> least;

  bool any() const noexcept { return work.all_flops() > 0 || work.bytes > 0; }
  /// Of the work, where there is any; 0: it is not known.
  double seconds() const noexcept { return any() && time_ns > 0 ? static_cast<double>(*time_ns) / 1e9 : 0; }
};

/// Counters of the ranges of each path, those that have them.
struct MeasuredGroup {
  Work work;
  std::uint64_t with_flops = 0;
  std::uint64_t with_bytes = 0;
  double bytes_ns = 0, busy_ns = 0;  // as in MeasuredWork

  /// Of all the time: what samples do not cover is taken to be like the rest.
  double all_bytes() const noexcept { return bytes_ns > 0 ? work.bytes * (busy_ns / bytes_ns) : work.bytes; }
};

std::vector<MeasuredGroup> measured_by_group(const analysis::PathTree& tree, const Projection& projection,
                                             const std::vector<analysis::MeasuredWork>& measured) {
  std::vector<MeasuredGroup> groups(tree.groups.size());
  for (RangeIndex range{0}; range < measured.size(); ++range) {
    const std::uint32_t group = tree.group_of[range];
    if (group == kNone || projection.depth[range] > tree.groups[group].depth) continue;
    groups[group].work += measured[range].work;
    groups[group].with_flops += measured[range].has_flops ? 1 : 0;
    groups[group].with_bytes += measured[range].has_bytes ? 1 : 0;
    groups[group].bytes_ns += measured[range].bytes_ns;
    groups[group].busy_ns += measured[range].busy_ns;
  }
  return groups;
}

RoofRow row_of(const Work& by_shapes, const MeasuredGroup& measured, const analysis::RangeGroup& figures,
               const Roof& roof) {
  RoofRow row;
  if (measured.with_flops != 0) {
    // Of the instances that were measured, in the time that they took; the others are taken to be like them.
    row.work = measured.work;
    row.time_ns = measured.work.known_ns;
    row.source = "counters";
    row.known_permille =
        common::share(static_cast<std::int64_t>(measured.with_flops), static_cast<std::int64_t>(figures.count));
    return row;
  }
  if (roof.counted_alone) return row;
  row.time_ns = roof.on_device ? figures.inclusive.gpu_busy_ns : figures.host_ns;
  if (by_shapes.all_flops() == 0 && by_shapes.bytes == 0) return row;
  row.work = by_shapes;
  row.source = "shapes";
  row.known_permille = common::share(by_shapes.known_ns, *row.time_ns);
  if (measured.with_bytes != 0 && measured.with_bytes == figures.count) {
    row.work.bytes = measured.all_bytes();
    row.source = "shapes, bytes: counters";
    row.scaled = measured.bytes_ns < 0.99 * measured.busy_ns;
  }
  return row;
}

std::optional<LeastTime> least_time(const RoofRow& row, const Roof& roof) {
  if (roof.peaks == nullptr || row.seconds() <= 0) return {};
  const LeastTime least = analysis::least_time(row.work, *roof.peaks, roof.device);
  return if_that(least.complete && least.seconds() > 0, least);
}

/// The point of a row: operations, bytes, their rates and what bounds them.
void add_point(ColumnsOf<RoofRow>& columns) {
  using Row = RoofRow;
  const auto if_any = [](auto get) {
    return [get](const Row& row) { return figure_of(row.any() ? &row : nullptr, get); };
  };
  // Thousandths of 10^9 a second, that is 10^6.
  const auto rate = [](auto get) {
    return [get](const Row& row) {
      return figure_of(row.seconds() > 0 ? &row : nullptr,
                       [&](const Row& timed) { return rounded(get(timed) / timed.seconds() / 1e6); });
    };
  };
  const auto flops = [](const Row& row) { return row.work.all_flops(); };
  const auto bytes = [](const Row& row) { return row.work.bytes; };
  const auto intensity = [flops](const Row& row) -> std::optional<std::int64_t> {
    if (row.work.bytes <= 0) return {};
    return rounded(flops(row) / row.work.bytes * 100);
  };
  const auto bound_by = [](const Row& row) {
    return !row.least ? "" : row.least->compute_s >= row.least->memory_s ? "compute" : "memory";
  };
  const auto of_peak = [](const Row& row) -> std::optional<std::int64_t> {
    if (!row.least) return {};
    return rounded(row.least->seconds() / row.seconds() * 1000);
  };
  columns.text("On", &Row::on).if_room(2);
  columns.time("Busy", &Row::time_ns);
  columns.flops("FLOPs", if_any([flops](const Row& row) { return rounded(flops(row)); })).if_room(5);
  columns.decimal("GFLOP/s", "", 3, rate(flops));
  columns.bytes("Bytes", if_any([bytes](const Row& row) { return rounded(bytes(row)); })).if_room(6);
  columns.decimal("GB/s", "", 3, rate(bytes));
  columns.decimal("FLOP a byte", "", 2, intensity);
  columns.text("Types", [](const Row& row) { return types_of(row.work); }).if_room(4);
  columns.text("Bound by", bound_by);
  columns.percent("Of peak", of_peak);
}

ColumnsOf<RoofRow> roof_columns() {
  using Row = RoofRow;
  const auto known = [](const Row& row) { return if_that(row.seconds() > 0, row.known_permille); };
  ColumnsOf<Row> columns;
  columns.path_name("Range", &Row::path);
  add_point(columns);
  columns.text("Source", &Row::source).if_room(1);
  columns.percent("Known", known).if_room(3);
  common::add_path_columns(columns, &Row::path);
  return columns;
}

ColumnsOf<RoofRow> operator_columns(const Timeline& timeline) {
  ColumnsOf<RoofRow> columns(timeline);
  columns.text("Operator", &RoofRow::operators);
  const auto family = [&timeline](const RoofRow& row) {
    return analysis::operator_family(timeline.text(row.operators));
  };
  columns.text("Family", family).if_room(2);
  columns.count("Calls", &RoofRow::calls);
  add_point(columns);
  return columns;
}

/// Why operators are not counted.
void note_missing(Table& table, const analysis::WorkByShapes& work, bool counted) {
  if (work.counted == 0 && work.without_shapes == 0 && !counted)
    table.note(
        "no operators with known FLOPs or bytes: record operators with the shapes of their inputs "
        "(OperatorOptions::shapes, "
        "or record_shapes of torch.profiler)");
  if (work.without_shapes != 0)
    table.note(base::with_thousands(work.without_shapes) +
               " operators are not counted because their input shapes were not recorded (OperatorOptions::shapes, or "
               "record_shapes of torch.profiler)");
  if (work.of_lists != 0)
    table.note(base::with_thousands(work.of_lists) +
               " operators of lists of tensors (cat, foreach, fused optimizers) are not counted: the types of their "
               "elements are not recorded");
}

void note_source(Table& table, const Timeline& timeline, const analysis::WorkByShapes& work, bool counted) {
  if (counted) {
    std::string sets;
    for (const auto& [key, value] : timeline.metadata)
      if (key == "counter_set" || key == "sample_set") sets += " " + base::printable(value);
    table.note("source counters: only what the recorded set" + sets + " counts; operations of other types are missing");
  }
  if (work.counted != 0)
    table.note(
        "source shapes: operations and bytes of operators, computed from the shapes of their inputs: lower bounds; "
        "column Known is the share of the time in these operators");
  note_missing(table, work, counted);
}

}  // namespace

Result<Table> make_roofline(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  const Projection& projection = projected.projection();
  const analysis::PathTree tree = common::tree_of(projected, projection, options);
  analysis::WorkByShapes work = analysis::work_by_shapes(timeline, projection, projected.projection_options());
  const std::vector<Work> groups = by_group(tree, work);
  std::vector<Work>().swap(work.ranges);
  std::vector<MeasuredGroup> measured;
  bool counted = false;
  {
    const std::vector<analysis::MeasuredWork> ranges = analysis::work_by_counters(timeline, projection);
    counted = !ranges.empty();
    if (counted) measured = measured_by_group(tree, projection, ranges);
  }
  std::vector<std::string> notes;
  const Roof roof = roof_of(timeline, options, counted, notes);
  const ColumnsOf<RoofRow> columns = roof_columns();
  Table table = columns.table();
  for (std::string& note : notes) table.note(std::move(note));
  common::add_paths(table, timeline, tree);
  bool scaled = false;
  const Work no_work;
  const MeasuredGroup not_measured;
  for (const std::uint32_t group : tree.order) {
    const MeasuredGroup& by_counters = counted ? measured[group] : not_measured;
    RoofRow row = row_of(groups.empty() ? no_work : groups[group], by_counters, tree.groups[group], roof);
    const bool on_device = roof.on_device || by_counters.with_flops != 0;
    row.path = group;
    row.on = on_device ? "device" : roof.counted_alone ? "" : "host";
    row.least = least_time(row, roof);
    columns.add_row(table, row);
    scaled = scaled || row.scaled;
  }
  note_source(table, timeline, work, counted);
  if (roof.counted_alone)
    table.note(
        "source none: device work is not recorded while ranges are counted (counters=), so ranges without counters "
        "have no times; record without counters= for figures by shapes");
  if (scaled)
    table.note(
        "bytes by counters are extrapolated from samples of a part of the device time; --view counters shows "
        "which part");
  return table;
}

Result<Table> make_roofline_operators(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  const analysis::WorkByShapes work =
      analysis::work_by_shapes(timeline, projected.projection(), projected.projection_options());
  std::vector<std::string> notes;
  const Roof roof = roof_of(timeline, options, false, notes);
  const ColumnsOf<RoofRow> columns = operator_columns(timeline);
  Table table = columns.table();
  for (std::string& note : notes) table.note(std::move(note));
  for (const analysis::OperatorWork& operators : work.operators) {
    RoofRow row;
    row.operators = operators.name;
    row.calls = operators.calls;
    row.on = roof.on_device ? "device" : roof.counted_alone ? "" : "host";
    row.work = operators.work;
    if (!roof.counted_alone) row.time_ns = operators.work.known_ns;
    row.least = least_time(row, roof);
    columns.add_row(table, row);
  }
  if (work.counted != 0)
    table.note(
        "operations and bytes are computed from the shapes of inputs; an operator inside one that is counted has no "
        "row");
  note_missing(table, work, false);
  return table;
}

}  // namespace rangefinder::report
