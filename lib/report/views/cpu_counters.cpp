// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/path_rows.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

// `cpu_counters`: what the processor did in ranges, on their threads.
namespace rangefinder::report {
namespace {

/// Sums over the ranges of a path.
struct Counts {
  std::array<double, kCpuEvents> sum{};
  std::array<bool, kCpuEvents> any{};
  std::uint64_t ranges = 0;

  bool has(CpuEvent event) const noexcept { return any[static_cast<std::size_t>(event)]; }
  double of(CpuEvent event) const noexcept { return sum[static_cast<std::size_t>(event)]; }
};

bool is_of_hardware(std::size_t event) noexcept {
  return event >= static_cast<std::size_t>(CpuEvent::kCycles) &&
         event <= static_cast<std::size_t>(CpuEvent::kBranchMisses);
}

/// What the counters would have shown, had they counted all the time; 1 where they did.
double scale_of(const CpuCounterTable& counters, std::size_t row) noexcept {
  const auto cpu_ns = counters.counts[row][static_cast<std::size_t>(CpuEvent::kCpuTime)];
  const auto lost_ns = counters.counts[row][static_cast<std::size_t>(CpuEvent::kNotCounted)];
  if (lost_ns <= 0 || cpu_ns <= lost_ns) return 1;
  return static_cast<double>(cpu_ns) / static_cast<double>(cpu_ns - lost_ns);
}

std::vector<Counts> by_group(const Timeline& timeline, const Projection& projection, const analysis::PathTree& tree) {
  std::vector<Counts> groups(tree.groups.size());
  const CpuCounterTable& counters = timeline.cpu_counters;
  for (std::size_t row = 0; row < counters.size(); ++row) {
    const RangeIndex range = counters.range[row];
    const std::uint32_t group = tree.group_of[range];
    if (group == kNone || projection.depth[range] > tree.groups[group].depth) continue;
    const double scale = scale_of(counters, row);
    ++groups[group].ranges;
    for (std::size_t event = 0; event < kCpuEvents; ++event) {
      const std::int64_t value = counters.counts[row][event];
      if (value < 0) continue;
      groups[group].any[event] = true;
      groups[group].sum[event] += static_cast<double>(value) * (is_of_hardware(event) ? scale : 1);
    }
  }
  return groups;
}

std::optional<std::int64_t> count_of(const Counts& counts, CpuEvent event) {
  return if_that(counts.has(event), common::rounded(counts.of(event)));
}

/// `part` by `whole`, times `factor`.
std::optional<std::int64_t> ratio_of(const Counts& counts, CpuEvent part, CpuEvent whole, double factor) {
  if (!counts.has(part) || !counts.has(whole) || counts.of(whole) <= 0) return {};
  return common::rounded(counts.of(part) / counts.of(whole) * factor);
}

/// Tenths of a percent of the CPU time in which the processor's events were counted.
std::optional<std::int64_t> counted_share(const Counts& counts) {
  const double cpu_ns = counts.of(CpuEvent::kCpuTime);
  if (!counts.has(CpuEvent::kNotCounted) || cpu_ns <= 0) return {};
  return common::rounded((cpu_ns - std::min(cpu_ns, counts.of(CpuEvent::kNotCounted))) / cpu_ns * 1000);
}

void note_scaling(Table& table, const CpuCounterTable& counters) {
  std::uint64_t scaled = 0;
  for (std::size_t row = 0; row < counters.size(); ++row) scaled += scale_of(counters, row) > 1 ? 1 : 0;
  if (scaled != 0)
    table.note(base::with_thousands(scaled) +
               " ranges ran while other programs used the CPU counters for part of the time: their counts are "
               "scaled up (column Counted)");
}

}  // namespace

Result<Table> make_cpu_counters(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  const Projection& projection = projected.projection();
  const analysis::PathTree tree = common::tree_of(projected, projection, options);
  const std::vector<Counts> groups = by_group(timeline, projection, tree);
  struct Row {
    std::uint32_t path;
    const analysis::RangeGroup& group;
    const Counts& counts;
  };
  const auto count = [](CpuEvent event) { return [event](const Row& row) { return count_of(row.counts, event); }; };
  const auto ratio = [](CpuEvent part, CpuEvent whole, double factor) {
    return [=](const Row& row) { return ratio_of(row.counts, part, whole, factor); };
  };
  using enum CpuEvent;
  ColumnsOf<Row> columns;
  columns.path_name("Range", &Row::path);
  columns.count("Count", [](const Row& row) { return row.group.count; }).if_room(1);
  columns.time("Host", [](const Row& row) { return row.group.host_ns; });
  columns.time("CPU time", count(kCpuTime));
  columns.count("Instructions", count(kInstructions)).if_any();
  columns.count("Cycles", count(kCycles)).if_room(2).if_any();
  columns.decimal("Instructions a cycle", "", 2, ratio(kInstructions, kCycles, 100)).if_any();
  columns.count("Cache references", count(kCacheReferences)).if_room(8).if_any();
  columns.count("Cache misses", count(kCacheMisses)).if_room(4).if_any();
  columns.percent("Cache miss rate", ratio(kCacheMisses, kCacheReferences, 1000)).if_any();
  columns.count("Branch misses", count(kBranchMisses)).if_room(7).if_any();
  columns.decimal("Branch misses in 1000", "", 2, ratio(kBranchMisses, kInstructions, 1000 * 100)).if_room(3).if_any();
  columns.count("Page faults", count(kPageFaults)).if_room(5);
  columns.count("Context switches", count(kContextSwitches)).if_room(6);
  columns.percent("Counted", [](const Row& row) { return counted_share(row.counts); }).if_room(9).if_any();
  common::add_path_columns(columns, &Row::path);
  Table table = columns.table();
  common::add_paths(table, timeline, tree);
  for (const std::uint32_t path : tree.order) columns.add_row(table, {path, tree.groups[path], groups[path]});
  note_scaling(table, timeline.cpu_counters);
  return table;
}

}  // namespace rangefinder::report
