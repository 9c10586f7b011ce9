// SPDX-License-Identifier: MIT
#include "analysis/allocator_counts.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/memory_place.hpp"

#include <cstdint>
#include <optional>
#include <string>

// `memory_fragmentation`: what of each device's memory the caching allocator holds and cannot give out.
namespace rangefinder::report {
namespace {

using analysis::AllocatorCount;
using analysis::CountedDevice;
using Figure = std::optional<std::int64_t>;

/// Nothing where one of them is not known, and of a whole that is nothing.
Figure share_of(const Figure& part, const Figure& whole) {
  return part && whole && *whole > 0 ? Figure(common::share(*part, *whole)) : Figure();
}

Figure less(const Figure& a, const Figure& b) { return a && b ? Figure(*a - *b) : Figure(); }

struct CountRow {
  const std::string& memory;
  const char* which;
  const AllocatorCount& count;
};

}  // namespace

Result<Table> make_memory_fragmentation(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = CountRow;
  const auto figure = [](auto member) { return [member](const Row& row) { return row.count.*member; }; };
  const auto share = [](Figure AllocatorCount::*part, Figure AllocatorCount::*whole) {
    return [=](const Row& row) { return share_of(row.count.*part, row.count.*whole); };
  };
  const auto internal = [](const Row& row) {
    return share_of(less(row.count.allocated_bytes, row.count.requested_bytes), row.count.allocated_bytes);
  };
  ColumnsOf<Row> columns;
  columns.text("Memory", [](const Row& row) -> const std::string& { return row.memory; });
  columns.text("Count", &Row::which);
  columns.count("Step", figure(&AllocatorCount::step)).if_room(3);
  columns.timestamp("Counted at", figure(&AllocatorCount::time_ns)).if_room(9);
  columns.bytes("Reserved", figure(&AllocatorCount::reserved_bytes));
  columns.bytes("Allocated", figure(&AllocatorCount::allocated_bytes));
  columns.bytes("Requested", figure(&AllocatorCount::requested_bytes)).if_room(7);
  columns.bytes("Active", figure(&AllocatorCount::active_bytes)).if_room(8);
  columns.bytes("Inactive splits", figure(&AllocatorCount::inactive_split_bytes)).if_room(6);
  columns.percent("External fragmentation",
                  share(&AllocatorCount::inactive_split_bytes, &AllocatorCount::reserved_bytes));
  columns.percent("Internal fragmentation", internal);
  columns.percent("Efficiency", share(&AllocatorCount::allocated_bytes, &AllocatorCount::reserved_bytes)).if_room(4);
  columns.count("Segments", figure(&AllocatorCount::segments)).if_room(5);
  columns.count("Retries", figure(&AllocatorCount::retries)).if_room(2);
  columns.count("Out of memory", figure(&AllocatorCount::out_of_memory)).if_room(1);
  Table table = columns.table();
  const Timeline& timeline = projected.timeline();
  for (const CountedDevice& device : analysis::counted_devices(timeline)) {
    const std::string memory = name_of_place(timeline, device.place);
    if (options.instances) {
      for (const AllocatorCount& count : device.counts) columns.add_row(table, {memory, "each", count});
    } else {
      columns.add_row(table, {memory, "most split", device.counts[device.most_split()]});
      columns.add_row(table, {memory, "last", device.counts.back()});
    }
  }
  return table;
}

}  // namespace rangefinder::report
