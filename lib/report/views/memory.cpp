// SPDX-License-Identifier: MIT
#include "analysis/memory.hpp"

#include "report/view.hpp"
#include "report/views/memory_place.hpp"
#include "report/views/own_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// `memory`: what ranges allocate, and how high memory stands in them. `memory_peak`: what the most that was allocated
// consisted of. `memory_devices`: the host and each device, over the whole time.
namespace rangefinder::report {
namespace {

using analysis::memory_of_places;
using analysis::PlaceMemory;
using analysis::RangeMemory;
using own::if_any;
using own::if_room;

std::int64_t number(std::uint64_t count) noexcept {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(count, std::numeric_limits<std::int64_t>::max()));
}

Result<Table> make_memory(const Subject& subject, const ViewOptions& options) {
  const Timeline& timeline = subject.timeline();
  std::vector<Column> columns{own::text("Range"),
                              own::text("Memory"),
                              if_room(1, own::count("Count")),
                              own::bytes("Allocated"),
                              own::bytes("Freed"),
                              own::bytes("Delta"),
                              if_room(4, own::bytes("Self allocated")),
                              if_room(5, own::bytes("Self freed")),
                              if_room(6, own::bytes("Self delta")),
                              own::bytes("Peak"),
                              if_room(2, own::bytes("Peak above begin")),
                              if_room(3, own::count("Allocations"))};
  if (options.instances) columns.insert(columns.begin() + 2, own::timestamp("Begin"));
  Table table(std::move(columns));
  const RangeKind kind = subject.projection_options().annotations ? RangeKind::kAnnotation : RangeKind::kOperator;
  for (const PlaceMemory& place : memory_of_places(timeline)) {
    std::vector<RangeMemory> rows = memory_of_ranges(timeline, place, kind, options.instances);
    if (!options.instances) {
      std::stable_sort(rows.begin(), rows.end(), [](const RangeMemory& a, const RangeMemory& b) {
        return std::pair(a.above_begin, a.inclusive.allocated_bytes) >
               std::pair(b.above_begin, b.inclusive.allocated_bytes);
      });
    }
    for (const RangeMemory& row : rows) {
      table.text(timeline, row.name).text(name_of_place(timeline, place.place));
      if (options.instances) table.number(timeline.ranges.begin_ns[row.first]);
      table.number(number(row.count))
          .number(row.inclusive.allocated_bytes)
          .number(row.inclusive.freed_bytes)
          .number(row.inclusive.delta_bytes())
          .number(row.exclusive.allocated_bytes)
          .number(row.exclusive.freed_bytes)
          .number(row.exclusive.delta_bytes())
          .number(row.peak_bytes)
          .number(row.above_begin)
          .number(number(row.inclusive.allocations));
    }
  }
  return table;
}

Result<Table> make_peak(const Subject& subject, const ViewOptions&) {
  const Timeline& timeline = subject.timeline();
  Table table({own::text("Allocated by"), own::text("Kind"), own::text("Memory"), own::bytes("At the peak"),
               own::percent("Share"), own::count("Blocks"), if_room(1, own::timestamp("Peak at"))});
  for (const PlaceMemory& place : memory_of_places(timeline)) {
    const analysis::PeakComposition peak = peak_composition(timeline, place);
    const std::string memory = name_of_place(timeline, place.place);
    const std::int64_t time_ns = timeline.allocator_events.time_ns[place.rows[place.peak]];
    const auto add = [&](std::string_view name, std::string_view kind, std::int64_t bytes, std::uint64_t blocks) {
      table.text(name).text(kind).text(memory).number(bytes).number(own::share(bytes, place.peak_bytes));
      table.optional(blocks != 0, number(blocks)).number(time_ns);
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

Result<Table> make_devices(const Subject& subject, const ViewOptions&) {
  const Timeline& timeline = subject.timeline();
  Table table({own::text("Memory"), own::text("Pool"), own::bytes("Peak"), if_any(own::bytes("Peak reserved")),
               if_any(own::bytes("Most unused")), if_room(2, if_any(own::percent("Efficiency"))),
               if_room(3, own::bytes("Allocated")), if_room(4, own::bytes("Freed")),
               if_room(1, own::bytes("At the end")), own::bytes("Growth a step"), if_room(6, own::count("Allocations")),
               if_room(5, if_any(own::count("Segments"))), if_any(own::count("Out of memory"))});
  for (const PlaceMemory& place : memory_of_places(timeline)) {
    const std::string memory = name_of_place(timeline, place.place);
    const analysis::StepMemory steps = memory_of_steps(timeline, place);
    table.text(memory)
        .text("all")
        .number(place.peak_bytes)
        .optional(place.peak_reserved >= 0, place.peak_reserved)
        .optional(place.unused_reserved >= 0, place.unused_reserved)
        .optional(place.peak_reserved > 0, own::share(place.peak_bytes, place.peak_reserved))
        .number(place.all.allocated_bytes)
        .number(place.all.freed_bytes)
        .number(place.level.back())
        .optional(steps.end_bytes.size() > 1, steps.growth())
        .number(number(place.all.allocations))
        .number(number(place.segments))
        .number(number(place.out_of_memory));
    if (place.pool_peaks.size() < 2) continue;
    for (const auto& [pool, peak_bytes] : place.pool_peaks) {
      // The highest bit is set for pools that the program made.
      constexpr std::uint64_t kOfProgram = std::uint64_t{1} << 63;
      table.text(memory).text(pool == 0                  ? "default"
                              : (pool & kOfProgram) != 0 ? "private " + std::to_string(pool & ~kOfProgram)
                                                         : "graph " + std::to_string(pool));
      table.number(peak_bytes);
      for (int i = 0; i < 10; ++i) table.null();
    }
  }
  return table;
}

}  // namespace

namespace views_list {
extern const View memory{"memory",   "Ranges by name: bytes allocated, bytes freed, peak", kNeedsMemory, {}, false,
                         make_memory};
extern const View memory_peak{
    "memory_peak", "What was allocated at the peak: by range, by operator", kNeedsMemory, {}, false, make_peak};
extern const View memory_devices{
    "memory_devices",
    "Memory of the host and of each device: peak, reserved, growth per step, private pools",
    kNeedsMemory,
    {},
    false,
    make_devices};
}  // namespace views_list

}  // namespace rangefinder::report
