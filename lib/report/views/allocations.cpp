// SPDX-License-Identifier: MIT
#include "analysis/allocation_calls.hpp"
#include "analysis/range_at.hpp"
#include "analysis/spread.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"
#include "timeline/activity_names.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// `allocations`: calls of CUDA's own that allocate and free, which is what a caching allocator is there to avoid.
namespace rangefinder::report {
namespace {

using analysis::AllocationCall;

std::vector<RangeIndex> ranges_of(const ProjectedTimeline& projected, const std::vector<AllocationCall>& calls) {
  std::vector<analysis::HostMoment> moments;
  moments.reserve(calls.size());
  for (const AllocationCall& call : calls) moments.push_back({call.thread, call.time_ns});
  return analysis::ranges_at(projected.timeline(), projected.projection_options(), moments);
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

std::string address_text(const Timeline& timeline, const AllocationCall& call) {
  if (call.row == kNone) return {};
  char address[24];
  std::snprintf(address, sizeof address, "0x%" PRIx64, timeline.cuda_allocations.address[call.row]);
  return address;
}

std::optional<std::uint32_t> stream_of(const Timeline& timeline, const AllocationCall& call) {
  const StreamIndex stream = call.row == kNone ? StreamIndex(kNone) : timeline.cuda_allocations.stream[call.row];
  if (stream == kNone) return {};
  return timeline.streams[stream].id;
}

Table instances_of(const ProjectedTimeline& projected, const std::vector<AllocationCall>& calls) {
  const Timeline& timeline = projected.timeline();
  struct Row {
    const AllocationCall& call;
    RangeIndex range;
  };
  const auto bytes_if = [&](auto holds) {
    return [&timeline, holds](const Row& row) { return if_that(holds(row.call), bytes_of(timeline, row.call)); };
  };
  ColumnsOf<Row> columns(timeline);
  columns.text("Range", [&](const Row& row) { return range_label(timeline, row.range, row.call.thread); });
  columns.text("Call", [&](const Row& row) { return function_of(timeline, row.call); });
  columns.text("Memory", [&](const Row& row) { return memory_text(timeline, row.call); }).if_room(1);
  columns.text("Thread", [&](const Row& row) { return thread_label(timeline, row.call.thread); }).if_room(3);
  columns.timestamp("Time", [](const Row& row) { return row.call.time_ns; }).if_room(2);
  columns.time("Host", [](const Row& row) { return if_that(row.call.call != kNone, row.call.host_ns); });
  columns.bytes("Allocated", bytes_if([](const AllocationCall& call) { return call.row != kNone && !call.freed; }));
  columns.bytes("Freed", bytes_if([](const AllocationCall& call) { return call.row != kNone && call.freed; }));
  columns.text("Address", [&](const Row& row) { return address_text(timeline, row.call); }).if_room(6);
  columns.count("Stream", [&](const Row& row) { return stream_of(timeline, row.call); }).if_room(5).if_any();
  columns.bytes("Kept", bytes_if([](const AllocationCall& call) { return call.kept; })).if_room(4);
  Table table = columns.table();
  const std::vector<RangeIndex> ranges = ranges_of(projected, calls);
  for (std::size_t i = 0; i < calls.size(); ++i) columns.add_row(table, {calls[i], ranges[i]});
  return table;
}

struct CallSiteGroup {
  std::string range;
  std::string_view function;
  std::string memory;
  ThreadIndex thread = kNone;
  std::uint64_t count = 0;
  bool recorded = false;
  std::int64_t host = 0, allocated = 0, freed = 0, largest = 0, kept = 0;
};

std::int64_t plus(std::int64_t a, std::int64_t b) { return analysis::saturating_add(a, b); }

std::vector<CallSiteGroup> groups_of(const ProjectedTimeline& projected, const std::vector<AllocationCall>& calls) {
  const Timeline& timeline = projected.timeline();
  const std::vector<RangeIndex> ranges = ranges_of(projected, calls);
  std::map<std::tuple<std::string, std::string_view, std::string, ThreadIndex>, CallSiteGroup> found;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const AllocationCall& call = calls[i];
    const std::tuple key{range_label(timeline, ranges[i], call.thread), function_of(timeline, call),
                         memory_text(timeline, call), call.thread};
    CallSiteGroup& group = found[key];
    std::tie(group.range, group.function, group.memory, group.thread) = key;
    const std::int64_t bytes = bytes_of(timeline, call);
    ++group.count;
    group.recorded = group.recorded || call.row != kNone;
    group.host = plus(group.host, call.host_ns);
    group.largest = std::max(group.largest, bytes);
    std::int64_t& moved = call.freed ? group.freed : group.allocated;
    moved = plus(moved, bytes);
    if (call.kept) group.kept = plus(group.kept, bytes);
  }
  std::vector<CallSiteGroup> groups;
  for (auto& [key, group] : found) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const CallSiteGroup& a, const CallSiteGroup& b) { return a.host > b.host; });
  return groups;
}

Table groups_table(const ProjectedTimeline& projected, const std::vector<AllocationCall>& calls) {
  using Row = CallSiteGroup;
  const Timeline& timeline = projected.timeline();
  const auto if_recorded = [](std::int64_t Row::*bytes) {
    return [bytes](const Row& row) { return if_that(row.recorded, row.*bytes); };
  };
  ColumnsOf<Row> columns(timeline);
  columns.text("Range", &Row::range);
  columns.text("Call", &Row::function);
  columns.text("Memory", &Row::memory).if_room(1).if_any();
  columns.text("Thread", [&](const Row& row) { return thread_label(timeline, row.thread); }).if_room(2);
  columns.count("Count", &Row::count);
  columns.time("Host", &Row::host);
  columns.time("Host avg", [](const Row& row) { return common::mean(row.host, row.count); }).if_room(3);
  columns.bytes("Allocated", if_recorded(&Row::allocated));
  columns.bytes("Freed", if_recorded(&Row::freed));
  columns.bytes("Largest", if_recorded(&Row::largest)).if_room(4);
  columns.bytes("Kept", if_recorded(&Row::kept)).if_room(1);
  return columns.table_of(groups_of(projected, calls));
}

}  // namespace

Result<Table> make_allocations(const ProjectedTimeline& projected, const ViewOptions& options) {
  const std::vector<AllocationCall> calls = analysis::allocation_calls(projected.timeline());
  Table table = options.instances ? instances_of(projected, calls) : groups_table(projected, calls);
  add_note(projected.timeline(), calls, table);
  return table;
}

}  // namespace rangefinder::report
