// SPDX-License-Identifier: MIT
#include "analysis/allocation_calls.hpp"
#include "analysis/range_at.hpp"
#include "analysis/spread.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"
#include "report/views/places.hpp"
#include "timeline/activity_names.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// `allocations`: calls of CUDA's own that allocate and free, which is what a caching allocator is there to avoid.
namespace rangefinder::report {
namespace {

using analysis::AllocationCall;

std::vector<RangeIndex> ranges_of(const Subject& subject, const std::vector<AllocationCall>& calls) {
  std::vector<analysis::HostMoment> moments;
  moments.reserve(calls.size());
  for (const AllocationCall& call : calls) moments.push_back({call.thread, call.time_ns});
  return analysis::ranges_at(subject.timeline(), subject.projection_options(), moments);
}

std::string_view function_of(const Timeline& timeline, const AllocationCall& call) {
  if (call.call != kNone) return timeline.text(timeline.calls.name[call.call]);
  return call.freed ? "(a call that freed)" : "(a call that allocated)";
}

/// "Device 0", "Pinned".
std::string memory_text(const Timeline& timeline, const AllocationCall& call) {
  if (call.row == kNone) return {};
  const CudaAllocationTable& table = timeline.cuda_allocations;
  std::string text(timeline::memory_name(table.memory[call.row]));
  const DeviceIndex device = table.device[call.row];
  const bool of_host = table.memory[call.row] == 1 || table.memory[call.row] == 2;
  return of_host || device == kNone ? text : text + " " + std::to_string(timeline.devices[device].id);
}

std::int64_t bytes_of(const Timeline& timeline, const AllocationCall& call) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 62;
  return call.row == kNone ? 0 : static_cast<std::int64_t>(std::min(timeline.cuda_allocations.bytes[call.row], kMax));
}

void add_note(const Timeline& timeline, const std::vector<AllocationCall>& calls, Table& table) {
  if (timeline.cuda_allocations.size() == 0 && !calls.empty())
    table.note("allocations: this input has no allocation records: calls are found by name, and sizes are unknown");
}

Table instances_of(const Subject& subject, const std::vector<AllocationCall>& calls) {
  const Timeline& timeline = subject.timeline();
  Table table({own::text("Range"), own::text("Call"), own::if_room(1, own::text("Memory")),
               own::if_room(3, own::text("Thread")), own::if_room(2, own::timestamp("Time")), own::time("Host"),
               own::bytes("Allocated"), own::bytes("Freed"), own::if_room(6, own::text("Address")),
               own::if_room(5, own::if_any(own::count("Stream"))), own::if_room(4, own::bytes("Kept"))});
  const std::vector<RangeIndex> ranges = ranges_of(subject, calls);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const AllocationCall& call = calls[i];
    const bool recorded = call.row != kNone;
    char address[24] = "";
    if (recorded) std::snprintf(address, sizeof address, "0x%" PRIx64, timeline.cuda_allocations.address[call.row]);
    const StreamIndex stream = recorded ? timeline.cuda_allocations.stream[call.row] : kNone;
    table.text(range_label(timeline, ranges[i], call.thread))
        .text(function_of(timeline, call))
        .text(memory_text(timeline, call))
        .text(thread_label(timeline, call.thread))
        .number(call.time_ns)
        .optional(call.call != kNone, call.host_ns)
        .optional(recorded && !call.freed, bytes_of(timeline, call))
        .optional(recorded && call.freed, bytes_of(timeline, call))
        .text(address)
        .optional(stream != kNone, stream != kNone ? timeline.streams[stream].id : 0)
        .optional(call.kept, bytes_of(timeline, call));
  }
  return table;
}

struct CallSiteGroup {
  std::uint64_t count = 0;
  bool recorded = false;
  std::int64_t host = 0, allocated = 0, freed = 0, largest = 0, kept = 0;
};
using Key = std::tuple<std::string, std::string_view, std::string, ThreadIndex>;  // range, function, memory, thread

std::int64_t plus(std::int64_t a, std::int64_t b) { return analysis::saturating_add(a, b); }

std::vector<std::pair<Key, CallSiteGroup>> groups_of(const Subject& subject, const std::vector<AllocationCall>& calls) {
  const Timeline& timeline = subject.timeline();
  const std::vector<RangeIndex> ranges = ranges_of(subject, calls);
  std::map<Key, CallSiteGroup> found;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const AllocationCall& call = calls[i];
    CallSiteGroup& group = found[{range_label(timeline, ranges[i], call.thread), function_of(timeline, call),
                                  memory_text(timeline, call), call.thread}];
    const std::int64_t bytes = bytes_of(timeline, call);
    ++group.count;
    group.recorded = group.recorded || call.row != kNone;
    group.host = plus(group.host, call.host_ns);
    group.largest = std::max(group.largest, bytes);
    std::int64_t& moved = call.freed ? group.freed : group.allocated;
    moved = plus(moved, bytes);
    if (call.kept) group.kept = plus(group.kept, bytes);
  }
  std::vector<std::pair<Key, CallSiteGroup>> groups(found.begin(), found.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second.host > b.second.host; });
  return groups;
}

Result<Table> make_allocations(const Subject& subject, const ViewOptions& options) {
  const Timeline& timeline = subject.timeline();
  const std::vector<AllocationCall> calls = analysis::allocation_calls(timeline);
  if (options.instances) {
    Table table = instances_of(subject, calls);
    add_note(timeline, calls, table);
    return table;
  }
  Table table({own::text("Range"), own::text("Call"), own::if_room(1, own::if_any(own::text("Memory"))),
               own::if_room(2, own::text("Thread")), own::count("Count"), own::time("Host"),
               own::if_room(3, own::time("Host avg")), own::bytes("Allocated"), own::bytes("Freed"),
               own::if_room(4, own::bytes("Largest")), own::if_room(1, own::bytes("Kept"))});
  for (const auto& [key, group] : groups_of(subject, calls)) {
    const auto& [range, function, memory, thread] = key;
    table.text(range)
        .text(function)
        .text(memory)
        .text(thread_label(timeline, thread))
        .number(static_cast<std::int64_t>(group.count))
        .number(group.host)
        .number(own::mean(group.host, group.count))
        .optional(group.recorded, group.allocated)
        .optional(group.recorded, group.freed)
        .optional(group.recorded, group.largest)
        .optional(group.recorded, group.kept);
  }
  add_note(timeline, calls, table);
  return table;
}

}  // namespace

namespace views_list {
extern const View allocations{"allocations",
                              "Device allocations (cudaMalloc and the like) by range and function (--instances: each)",
                              kNeedsAllocations,
                              {},
                              false,
                              make_allocations};
}  // namespace views_list

}  // namespace rangefinder::report
