// SPDX-License-Identifier: MIT
#include "analysis/roofline.hpp"

#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"
#include "report/views/path_rows.hpp"

#include <algorithm>
#include <string>
#include <vector>

// `roofline`: what ranges computed and moved in their time, and how near that is to what the machine can do.
namespace rangefinder::report {
namespace {

using analysis::LeastTime;
using analysis::Work;
using own::rounded;

/// What the rows of a table are held against.
struct Roof {
  bool on_device = false;
  /// Devices worked, and only counters of ranges say how: the host's times are of launches.
  bool counted_alone = false;
  std::string device;                   ///< as peaks name it
  const MachinePeaks* peaks = nullptr;  ///< null: none, or of another device
};

/// Of the first device that worked; several of a machine are mostly alike, and busy time is added up over them.
std::string device_of(const Timeline& timeline, bool counted) {
  if (timeline.activities.size() != 0)
    return timeline.devices[timeline.streams[timeline.activities.stream.front()].device].name;
  return counted && !timeline.devices.empty() ? timeline.devices.front().name : "host";
}

/// The values of a fact, of all captures.
std::vector<std::string_view> facts_of(const Timeline& timeline, std::string_view wanted) {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : timeline.metadata)
    if (key == wanted && value.size() > 2) values.push_back(std::string_view(value).substr(1, value.size() - 2));
  return values;
}

/// "cpu_amd_epyc_9654_96_core" of "cpu_amd_epyc_9654_96_core_192t": a process may use fewer processors than there are.
std::string_view model_of(std::string_view cpu_key) noexcept { return cpu_key.substr(0, cpu_key.rfind('_')); }

/// Peaks of the host go by its processor.
bool of_another_host(const Timeline& timeline, const MachinePeaks& peaks, Table& table) {
  if (peaks.cpu_key.empty()) return false;
  for (const std::string_view key : facts_of(timeline, "cpu_key")) {
    if (model_of(key) == model_of(peaks.cpu_key)) continue;
    table.note(base::printable(peaks.source) + " was measured on " + base::printable(peaks.cpu_key) +
               ", and this ran on " + base::printable(key) + ": no shares");
    return true;
  }
  return false;
}

Roof roof_of(const Timeline& timeline, const ViewOptions& options, bool counted, Table& table) {
  const bool on_device = timeline.activities.size() != 0;
  const bool counted_alone = !on_device && (counted || !facts_of(timeline, "counter_state").empty());
  Roof roof{on_device, counted_alone, device_of(timeline, counted), nullptr};
  if (options.peaks == nullptr) {
    table.note(
        "no shares of a peak without measured peaks: run `rangefinder measure-peaks -o peaks.json` on the machine "
        "that ran this, and add --peaks peaks.json");
    return roof;
  }
  if (roof.device == "host" && of_another_host(timeline, *options.peaks, table)) return roof;
  if (options.peaks->best(roof.device, "flops") > 0 || options.peaks->best(roof.device, "bandwidth") > 0) {
    roof.peaks = options.peaks;
    return roof;
  }
  std::string known;
  for (const MachinePeak& row : options.peaks->rows) {
    if (known.find(row.device) == std::string::npos) known += (known.empty() ? "" : ", ") + row.device;
  }
  table.note(base::printable(options.peaks->source) + " has no peaks of " +
             (roof.device.empty() ? "an unnamed device" : base::printable(roof.device)) +
             ", which ran this: no shares (it has " + (known.empty() ? "none" : base::printable(known)) + ")");
  return roof;
}

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
struct Row {
  Work work;
  std::int64_t time_ns = 0;
  const char* source = "none";
  std::int64_t known_permille = 0;
  bool scaled = false;  // bytes of a part of the time
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

Row row_of(const Work& by_shapes, const MeasuredGroup& measured, const analysis::RangeGroup& figures,
           const Roof& roof) {
  Row row;
  row.time_ns = roof.on_device ? figures.inclusive.gpu_busy_ns : figures.host_ns;
  if (measured.with_flops != 0) {
    // Of the instances that were measured, in the time that they took; the others are taken to be like them.
    row = {measured.work, measured.work.known_ns, "counters", 0};
    row.known_permille =
        own::share(static_cast<std::int64_t>(measured.with_flops), static_cast<std::int64_t>(figures.count));
    return row;
  }
  if (roof.counted_alone) row.time_ns = kNull;
  if (by_shapes.all_flops() == 0 || roof.counted_alone) return row;
  row.work = by_shapes;
  row.source = "shapes";
  row.known_permille = own::share(by_shapes.known_ns, row.time_ns);
  if (measured.with_bytes != 0 && measured.with_bytes == figures.count) {
    row.work.bytes = measured.all_bytes();
    row.source = "shapes, bytes: counters";
    row.scaled = measured.bytes_ns < 0.99 * measured.busy_ns;
  }
  return row;
}

void add_row(Table& table, const Row& row, const Roof& roof) {
  const double flops = row.work.all_flops();
  const double bytes = row.work.bytes;
  const bool any = flops > 0 || bytes > 0;
  const bool timed = any && row.time_ns > 0;
  const auto seconds = static_cast<double>(row.time_ns) / 1e9;
  table.number(row.time_ns)
      .optional(any, rounded(flops))
      // Thousandths of 10^9 a second, that is 10^6.
      .optional(timed, timed ? rounded(flops / seconds / 1e6) : 0)
      .optional(any, rounded(bytes))
      .optional(timed, timed ? rounded(bytes / seconds / 1e6) : 0)
      .optional(bytes > 0, bytes > 0 ? rounded(flops / bytes * 100) : 0)
      .text(types_of(row.work));
  const LeastTime least =
      roof.peaks != nullptr ? analysis::least_time(row.work, *roof.peaks, roof.device) : LeastTime{};
  const bool bounded = timed && least.complete && least.seconds() > 0;
  table.text(!bounded                            ? ""
             : least.compute_s >= least.memory_s ? "compute"
                                                 : "memory")
      .optional(bounded, bounded ? rounded(least.seconds() / seconds * 1000) : 0)
      .text(row.source)
      .optional(timed, row.known_permille);
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
        "source shapes: operations and bytes of matrix products, convolutions, attention, additions and "
        "multiplications, computed from the shapes of their inputs: lower bounds; column Known is the share of the "
        "time in these operators");
  if (work.counted == 0 && work.without_shapes == 0 && !counted)
    table.note(
        "no operators with known FLOPs: record operators with the shapes of their inputs (OperatorOptions::shapes, "
        "or record_shapes of torch.profiler)");
  if (work.without_shapes != 0)
    table.note(base::with_thousands(work.without_shapes) +
               " operators are not counted because their input shapes were not recorded (OperatorOptions::shapes, or "
               "record_shapes of torch.profiler)");
}

Result<Table> make_roofline(const Subject& subject, const ViewOptions& options) {
  using own::if_room;
  const Timeline& timeline = subject.timeline();
  const Projection& projection = subject.projection();
  const analysis::PathTree tree = analysis::range_tree(timeline, projection, subject.projection_options(),
                                                       own::folding_of(options), analysis::HostSpread::kNotWanted);
  analysis::WorkByShapes work = analysis::work_by_shapes(timeline, projection, subject.projection_options());
  const std::vector<Work> groups = by_group(tree, work);
  std::vector<Work>().swap(work.ranges);
  std::vector<MeasuredGroup> measured;
  bool counted = false;
  {
    const std::vector<analysis::MeasuredWork> ranges = analysis::work_by_counters(timeline, projection);
    counted = !ranges.empty();
    if (counted) measured = measured_by_group(tree, projection, ranges);
  }
  std::vector<Column> columns{own::path_name("Range"),
                              if_room(2, own::text("On")),
                              own::time("Busy"),
                              if_room(5, own::flops("FLOPs")),
                              own::decimal("GFLOP/s", "", 3),
                              if_room(6, own::bytes("Bytes")),
                              own::decimal("GB/s", "", 3),
                              own::decimal("FLOP a byte", "", 2),
                              if_room(4, own::text("Types")),
                              own::text("Bound by"),
                              own::percent("Of peak"),
                              if_room(1, own::text("Source")),
                              if_room(3, own::percent("Known"))};
  own::add_path_columns(columns);
  Table table(std::move(columns));
  own::add_paths(table, timeline, tree);
  const Roof roof = roof_of(timeline, options, counted, table);
  bool scaled = false;
  const Work no_work;
  const MeasuredGroup not_measured;
  for (const std::uint32_t group : tree.order) {
    const analysis::RangeGroup& figures = tree.groups[group];
    const MeasuredGroup& by_counters = counted ? measured[group] : not_measured;
    const bool on_device = roof.on_device || by_counters.with_flops != 0;
    table.path(group).text(on_device ? "device" : roof.counted_alone ? "" : "host");
    const Row row = row_of(groups.empty() ? no_work : groups[group], by_counters, figures, roof);
    add_row(table, row, roof);
    scaled = scaled || row.scaled;
    own::add_path(table, group);
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

}  // namespace

namespace views_list {
extern const View roofline{
    "roofline",   "FLOP/s and bytes/s of ranges, as shares of the peaks of the machine (--peaks)",
    kNeedsRanges, {},
    false,        make_roofline};
}  // namespace views_list

}  // namespace rangefinder::report
