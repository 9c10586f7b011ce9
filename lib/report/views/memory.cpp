// SPDX-License-Identifier: MIT
#include "analysis/memory.hpp"

#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/memory_place.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// `memory`: what ranges allocate, and how high memory stands in them. `memory_peak`: what the most that was allocated
// consisted of. `memory_devices`: the host and each device, over the whole time.
namespace rangefinder::report {
namespace {

using analysis::memory_of_places;
using analysis::MemoryFigures;
using analysis::PlaceMemory;
using analysis::RangeMemory;

std::string pool_name(std::uint64_t pool) {
  // The highest bit is set for pools that the program made.
  constexpr std::uint64_t kOfProgram = std::uint64_t{1} << 63;
  if (pool == 0) return "default";
  return (pool & kOfProgram) != 0 ? "private " + std::to_string(pool & ~kOfProgram) : "graph " + std::to_string(pool);
}

}  // namespace

Result<Table> make_memory(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  struct Row {
    const RangeMemory& range;
    const std::string& memory;
  };
  const auto figure = [](MemoryFigures RangeMemory::*of, auto get) {
    return [=](const Row& row) { return std::invoke(get, row.range.*of); };
  };
  constexpr auto kAll = &RangeMemory::inclusive, kSelf = &RangeMemory::exclusive;
  ColumnsOf<Row> columns(timeline);
  columns.text("Range", [](const Row& row) { return row.range.name; });
  columns.text("Memory", [](const Row& row) -> const std::string& { return row.memory; });
  if (options.instances)
    columns.timestamp("Begin", [&](const Row& row) { return timeline.ranges.begin_ns[row.range.first]; });
  columns.count("Count", [](const Row& row) { return row.range.count; }).if_room(1);
  columns.bytes("Allocated", figure(kAll, &MemoryFigures::allocated_bytes));
  columns.bytes("Freed", figure(kAll, &MemoryFigures::freed_bytes));
  columns.bytes("Delta", figure(kAll, &MemoryFigures::delta_bytes));
  columns.bytes("Self allocated", figure(kSelf, &MemoryFigures::allocated_bytes)).if_room(4);
  columns.bytes("Self freed", figure(kSelf, &MemoryFigures::freed_bytes)).if_room(5);
  columns.bytes("Self delta", figure(kSelf, &MemoryFigures::delta_bytes)).if_room(6);
  columns.bytes("Peak", [](const Row& row) { return row.range.peak_bytes; });
  columns.bytes("Peak above begin", [](const Row& row) { return row.range.above_begin; }).if_room(2);
  columns.count("Allocations", figure(kAll, &MemoryFigures::allocations)).if_room(3);
  Table table = columns.table();
  const RangeKind kind = projected.projection_options().annotations ? RangeKind::kAnnotation : RangeKind::kOperator;
  const analysis::RangeNesting nesting(timeline);
  for (const PlaceMemory& place : memory_of_places(timeline)) {
    std::vector<RangeMemory> ranges = memory_of_ranges(nesting, place, kind, options.instances);
    if (!options.instances) {
      std::stable_sort(ranges.begin(), ranges.end(), [](const RangeMemory& a, const RangeMemory& b) {
        return std::pair(a.above_begin, a.inclusive.allocated_bytes) >
               std::pair(b.above_begin, b.inclusive.allocated_bytes);
      });
    }
    const std::string memory = name_of_place(timeline, place.place);
    for (const RangeMemory& range : ranges) columns.add_row(table, {range, memory});
  }
  return table;
}

Result<Table> make_memory_peak(const ProjectedTimeline& projected, const ViewOptions&) {
  const Timeline& timeline = projected.timeline();
  struct Row {
    std::string_view by, kind;
    std::int64_t bytes;
    std::uint64_t blocks;
    const std::string& memory;
    const PlaceMemory& place;
  };
  ColumnsOf<Row> columns(timeline);
  columns.text("Allocated by", &Row::by);
  columns.text("Kind", &Row::kind);
  columns.text("Memory", [](const Row& row) -> const std::string& { return row.memory; });
  columns.bytes("At the peak", &Row::bytes);
  columns.percent("Share", [](const Row& row) { return common::share(row.bytes, row.place.peak_bytes); });
  columns.count("Blocks", [](const Row& row) { return if_that(row.blocks != 0, row.blocks); });
  const auto peak_at = [&](const Row& row) {
    return timeline.allocator_events.time_ns[row.place.rows[row.place.peak]];
  };
  columns.timestamp("Peak at", peak_at).if_room(1);
  Table table = columns.table();
  const analysis::RangeNesting nesting(timeline);
  for (const PlaceMemory& place : memory_of_places(timeline)) {
    const analysis::PeakComposition peak = peak_composition(nesting, place);
    const std::string memory = name_of_place(timeline, place.place);
    const auto add = [&](std::string_view by, std::string_view kind, std::int64_t bytes, std::uint64_t blocks) {
      columns.add_row(table, {by, kind, bytes, blocks, memory, place});
    };
    const auto add_all = [&](const std::vector<analysis::PeakShare>& shares, std::string_view kind) {
      for (const analysis::PeakShare& share : shares)
        add(share.range != StringId::kEmpty ? timeline.text(share.range) : "[none]", kind, share.bytes, share.blocks);
    };
    add_all(peak.by_range, "range");
    if (peak.earlier_bytes != 0) add("[before the recording]", "range", peak.earlier_bytes, 0);
    const bool has_operators =
        std::any_of(peak.by_operator.begin(), peak.by_operator.end(),
                    [](const analysis::PeakShare& share) { return share.range != StringId::kEmpty; });
    if (has_operators) add_all(peak.by_operator, "operator");
  }
  return table;
}

Result<Table> make_memory_devices(const ProjectedTimeline& projected, const ViewOptions&) {
  const Timeline& timeline = projected.timeline();
  struct Row {
    const std::string& memory;
    std::string pool;
    std::int64_t peak_bytes;
    const PlaceMemory* place = nullptr;  // null: of a pool, of which nothing else is known
  };
  const auto of_place = [](auto get) { return [get](const Row& row) { return figure_of(row.place, get); }; };
  const auto if_known = [](std::int64_t PlaceMemory::*bytes) {
    return [bytes](const PlaceMemory& place) { return if_that(place.*bytes >= 0, place.*bytes); };
  };
  const auto efficiency = [](const PlaceMemory& place) {
    return if_that(place.peak_reserved > 0, common::share(place.peak_bytes, place.peak_reserved));
  };
  const auto growth = [&](const PlaceMemory& place) {
    const analysis::StepMemory steps = memory_of_steps(timeline, place);
    return if_that(steps.end_bytes.size() > 1, steps.growth());
  };
  ColumnsOf<Row> columns;
  columns.text("Memory", [](const Row& row) -> const std::string& { return row.memory; });
  columns.text("Pool", &Row::pool);
  columns.bytes("Peak", &Row::peak_bytes);
  columns.bytes("Peak reserved", of_place(if_known(&PlaceMemory::peak_reserved))).if_any();
  columns.bytes("Most unused", of_place(if_known(&PlaceMemory::unused_reserved))).if_any();
  columns.percent("Efficiency", of_place(efficiency)).if_room(2).if_any();
  columns.bytes("Allocated", of_place([](const PlaceMemory& place) { return place.all.allocated_bytes; })).if_room(3);
  columns.bytes("Freed", of_place([](const PlaceMemory& place) { return place.all.freed_bytes; })).if_room(4);
  columns.bytes("At the end", of_place([](const PlaceMemory& place) { return place.level.back(); })).if_room(1);
  columns.bytes("Growth a step", of_place(growth));
  columns.count("Allocations", of_place([](const PlaceMemory& place) { return place.all.allocations; })).if_room(6);
  columns.count("Segments", of_place(&PlaceMemory::segments)).if_room(5).if_any();
  columns.count("Out of memory", of_place(&PlaceMemory::out_of_memory)).if_any();
  Table table = columns.table();
  for (const PlaceMemory& place : memory_of_places(timeline)) {
    const std::string memory = name_of_place(timeline, place.place);
    columns.add_row(table, {memory, "all", place.peak_bytes, &place});
    if (place.pool_peaks.size() < 2) continue;
    for (const auto& [pool, peak_bytes] : place.pool_peaks)
      columns.add_row(table, {memory, pool_name(pool), peak_bytes});
  }
  return table;
}

}  // namespace rangefinder::report
