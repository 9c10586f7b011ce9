// SPDX-License-Identifier: MIT
#include "analysis/allocator_counts.hpp"
#include "report/view.hpp"
#include "report/views/memory_place.hpp"
#include "report/views/own_columns.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

// `memory_fragmentation`: what of each device's memory the caching allocator holds and cannot give out.
namespace rangefinder::report {
namespace {

using analysis::AllocatorCount;
using analysis::CountedDevice;
using own::if_room;

using Figure = std::optional<std::int64_t>;

/// Nothing where one of them is not known, and of a whole that is nothing.
std::int64_t share_of(const Figure& part, const Figure& whole) {
  return part && whole && *whole > 0 ? own::share(*part, *whole) : kNull;
}

Figure less(const Figure& a, const Figure& b) { return a && b ? Figure(*a - *b) : Figure(); }

void put_figures(Table& table, const AllocatorCount& count) {
  table.number(count.step.value_or(kNull)).number(count.time_ns);
  for (const Figure& bytes : {count.reserved_bytes, count.allocated_bytes, count.requested_bytes, count.active_bytes,
                              count.inactive_split_bytes})
    table.number(bytes.value_or(kNull));
  table.number(share_of(count.inactive_split_bytes, count.reserved_bytes))
      .number(share_of(less(count.allocated_bytes, count.requested_bytes), count.allocated_bytes))
      .number(share_of(count.allocated_bytes, count.reserved_bytes));
  for (const Figure& number : {count.segments, count.retries, count.out_of_memory})
    table.number(number.value_or(kNull));
}

Result<Table> make_fragmentation(const Subject& subject, const ViewOptions& options) {
  Table table({own::text("Memory"), own::text("Count"), if_room(3, own::count("Step")),
               if_room(9, own::timestamp("Counted at")), own::bytes("Reserved"), own::bytes("Allocated"),
               if_room(7, own::bytes("Requested")), if_room(8, own::bytes("Active")),
               if_room(6, own::bytes("Inactive splits")), own::percent("External fragmentation"),
               own::percent("Internal fragmentation"), if_room(4, own::percent("Efficiency")),
               if_room(5, own::count("Segments")), if_room(2, own::count("Retries")),
               if_room(1, own::count("Out of memory"))});
  const Timeline& timeline = subject.timeline();
  for (const CountedDevice& device : analysis::counted_devices(timeline)) {
    const auto put = [&](std::string_view which, const AllocatorCount& count) {
      table.text(name_of_place(timeline, device.place)).text(which);
      put_figures(table, count);
    };
    if (options.instances) {
      for (const AllocatorCount& count : device.counts) put("each", count);
    } else {
      put("most split", device.counts[device.most_split()]);
      put("last", device.counts.back());
    }
  }
  return table;
}

}  // namespace

namespace views_list {
extern const View memory_fragmentation{"memory_fragmentation",
                                       "Fragmentation of device allocators: at its maximum and at the end",
                                       kNeedsAllocatorCounts,
                                       {},
                                       false,
                                       make_fragmentation};
}  // namespace views_list

}  // namespace rangefinder::report
