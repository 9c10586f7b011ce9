// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"
#include "report/views/path_rows.hpp"

#include <algorithm>
#include <array>
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

void add_count(Table& table, const Counts& counts, CpuEvent event) {
  table.optional(counts.has(event), own::rounded(counts.of(event)));
}

/// `part` by `whole`, times `factor`.
void add_ratio(Table& table, const Counts& counts, CpuEvent part, CpuEvent whole, double factor) {
  const bool any = counts.has(part) && counts.has(whole) && counts.of(whole) > 0;
  table.optional(any, any ? own::rounded(counts.of(part) / counts.of(whole) * factor) : 0);
}

void note_scaling(Table& table, const CpuCounterTable& counters) {
  std::uint64_t scaled = 0;
  for (std::size_t row = 0; row < counters.size(); ++row) scaled += scale_of(counters, row) > 1 ? 1 : 0;
  if (scaled != 0)
    table.note(base::with_thousands(scaled) +
               " ranges ran while other programs used the CPU counters for part of the time: their counts are "
               "scaled up (column Counted)");
}

Result<Table> make_cpu_counters(const Subject& subject, const ViewOptions& options) {
  using own::if_any;
  using own::if_room;
  const Timeline& timeline = subject.timeline();
  const Projection& projection = subject.projection();
  const analysis::PathTree tree = analysis::range_tree(timeline, projection, subject.projection_options(),
                                                       own::folding_of(options), analysis::HostSpread::kNotWanted);
  const std::vector<Counts> groups = by_group(timeline, projection, tree);
  std::vector<Column> columns{own::path_name("Range"),
                              if_room(1, own::count("Count")),
                              own::time("Host"),
                              own::time("CPU time"),
                              if_any(own::count("Instructions")),
                              if_room(2, if_any(own::count("Cycles"))),
                              if_any(own::decimal("Instructions a cycle", "", 2)),
                              if_room(8, if_any(own::count("Cache references"))),
                              if_room(4, if_any(own::count("Cache misses"))),
                              if_any(own::percent("Cache miss rate")),
                              if_room(7, if_any(own::count("Branch misses"))),
                              if_room(3, if_any(own::decimal("Branch misses in 1000", "", 2))),
                              if_room(5, own::count("Page faults")),
                              if_room(6, own::count("Context switches")),
                              if_room(9, if_any(own::percent("Counted")))};
  own::add_path_columns(columns);
  Table table(std::move(columns));
  own::add_paths(table, timeline, tree);
  for (const std::uint32_t group : tree.order) {
    const Counts& counts = groups[group];
    table.path(group).number(static_cast<std::int64_t>(tree.groups[group].count)).number(tree.groups[group].host_ns);
    for (const CpuEvent event : {CpuEvent::kCpuTime, CpuEvent::kInstructions, CpuEvent::kCycles})
      add_count(table, counts, event);
    add_ratio(table, counts, CpuEvent::kInstructions, CpuEvent::kCycles, 100);
    add_count(table, counts, CpuEvent::kCacheReferences);
    add_count(table, counts, CpuEvent::kCacheMisses);
    add_ratio(table, counts, CpuEvent::kCacheMisses, CpuEvent::kCacheReferences, 1000);
    add_count(table, counts, CpuEvent::kBranchMisses);
    add_ratio(table, counts, CpuEvent::kBranchMisses, CpuEvent::kInstructions, 1000 * 100);
    add_count(table, counts, CpuEvent::kPageFaults);
    add_count(table, counts, CpuEvent::kContextSwitches);
    const double cpu_ns = counts.of(CpuEvent::kCpuTime);
    const bool counted = counts.has(CpuEvent::kNotCounted) && cpu_ns > 0;
    table.optional(
        counted,
        counted ? own::rounded((cpu_ns - std::min(cpu_ns, counts.of(CpuEvent::kNotCounted))) / cpu_ns * 1000) : 0);
    own::add_path(table, group);
  }
  note_scaling(table, timeline.cpu_counters);
  return table;
}

}  // namespace

namespace views_list {
extern const View cpu_counters{"cpu_counters",
                               "CPU events per range (perf events): instructions, cycles, cache misses, page faults",
                               kNeedsRanges | kNeedsCpuCounters,
                               {},
                               false,
                               make_cpu_counters};
}  // namespace views_list

}  // namespace rangefinder::report
