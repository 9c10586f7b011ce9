// SPDX-License-Identifier: MIT
#include "analysis/nsight/labels.hpp"
#include "exporter/nsight/rows.hpp"
#include "exporter/nsight/schema.hpp"

#include <optional>
#include <unordered_map>

namespace rangefinder::nsight_export {
namespace {

// Nsight numbers memory kinds from 0, pageable, with 7 for unknown; CUPTI, and the timeline, from 1 with 0 for unknown.
std::uint32_t memory_kind(std::uint32_t cupti) noexcept {
  constexpr std::uint32_t kUnknown = 7;
  return cupti == 0 || cupti > kUnknown ? kUnknown : cupti - 1;
}

/// Columns that are NULL rather than a number which stands for "none".
std::optional<std::uint64_t> unless_zero(std::uint64_t value) {
  return value == 0 ? std::nullopt : std::optional(value);
}
std::optional<std::uint32_t> if_some(std::uint32_t device) {
  return device == kNone ? std::nullopt : std::optional(device);
}

class ActivityRows {
 public:
  explicit ActivityRows(Export& out)
      : out_(out),
        timeline_(out.timeline),
        kernels_(out.output, "CUPTI_ACTIVITY_KIND_KERNEL",
                 {"start",
                  "end",
                  "deviceId",
                  "contextId",
                  "greenContextId",
                  "streamId",
                  "correlationId",
                  "globalPid",
                  "demangledName",
                  "shortName",
                  "mangledName",
                  "launchType",
                  "registersPerThread",
                  "gridX",
                  "gridY",
                  "gridZ",
                  "blockX",
                  "blockY",
                  "blockZ",
                  "staticSharedMemory",
                  "dynamicSharedMemory",
                  "localMemoryPerThread",
                  "localMemoryTotal",
                  "gridId",
                  "sharedMemoryExecuted",
                  "graphNodeId",
                  "graphId",
                  "clusterX",
                  "clusterY",
                  "clusterZ",
                  "maxActiveClusters"}),
        copies_(out.output, "CUPTI_ACTIVITY_KIND_MEMCPY",
                {"start", "end", "deviceId", "contextId", "greenContextId", "streamId", "correlationId", "globalPid",
                 "bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId", "graphNodeId", "graphId"}),
        memsets_(out.output, "CUPTI_ACTIVITY_KIND_MEMSET",
                 {"start", "end", "deviceId", "contextId", "greenContextId", "streamId", "correlationId", "globalPid",
                  "value", "bytes", "graphNodeId", "memKind", "graphId"}),
        graphs_(out.output, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                {"start", "end", "deviceId", "contextId", "greenContextId", "streamId", "correlationId", "globalPid",
                 "graphId", "graphExecId"}) {}

  void write() {
    for (ActivityIndex activity{0}; activity < timeline_.activities.size(); ++activity)
      write(timeline_.activities.row(activity));
  }

 private:
  void write(const ActivityRow& row) {
    switch (row.kind) {
      case ActivityKind::kKernel:
        return write_kernel(row);
      case ActivityKind::kMemcpy:
        return write_copy(row);
      case ActivityKind::kMemset:
        return write_memset(row);
      case ActivityKind::kGraph:
        return with_shared(row, graphs_, row.graph, row.graph);
    }
  }

  /// The columns that all four tables begin with, and those that follow.
  template <typename... Values>
  void with_shared(const ActivityRow& row, Insert& table, const Values&... values) {
    const StreamInfo& stream = timeline_.streams[row.stream];
    const DeviceInfo& device = timeline_.devices[stream.device];
    table.row(out_.time(row.begin_ns), out_.time(row.end_ns), device.id, stream.context, stream.green_context,
              stream.id, row.correlation, out_.ids.process(device.process), values...);
  }

  void write_kernel(const ActivityRow& row) {
    static const KernelDetail kUnknown;
    const KernelDetail& detail = row.detail == kNone ? kUnknown : timeline_.kernel_details[row.detail];
    const StringId full = detail.demangled != StringId::kEmpty ? detail.demangled : row.name;
    std::optional<std::int64_t> mangled;
    if (detail.mangled != StringId::kEmpty) mangled = out_.strings.id(detail.mangled);
    with_shared(row, kernels_, out_.strings.id(full), short_name(detail.base, full), mangled,
                detail.launch_type + 1,  // 0 is Nsight's "unknown"
                detail.registers_per_thread, detail.grid[0], detail.grid[1], detail.grid[2], detail.block[0],
                detail.block[1], detail.block[2], detail.static_shared_bytes, detail.dynamic_shared_bytes,
                detail.local_bytes_per_thread, 0, ++grid_id_, detail.shared_executed_bytes, unless_zero(row.graph_node),
                unless_zero(row.graph), detail.cluster[0], detail.cluster[1], detail.cluster[2],
                detail.max_active_clusters);
  }

  std::int64_t short_name(StringId base, StringId full) {
    if (base != StringId::kEmpty) return out_.strings.id(base);
    const auto [found, added] = short_names_.try_emplace(static_cast<std::uint32_t>(full), 0);
    if (added) found->second = out_.strings.id(analysis::nsight::base_name(timeline_.text(full)));
    return found->second;
  }

  const CopyDetail& copy_of(const ActivityRow& row) const noexcept {
    static const CopyDetail kUnknown;
    return row.detail == kNone ? kUnknown : timeline_.copy_details[row.detail];
  }

  void write_copy(const ActivityRow& row) {
    const CopyDetail& detail = copy_of(row);
    with_shared(row, copies_, row.bytes, detail.copy_kind, memory_kind(detail.source_memory),
                memory_kind(detail.target_memory), if_some(detail.source_device), if_some(detail.target_device),
                unless_zero(row.graph_node), unless_zero(row.graph));
  }

  void write_memset(const ActivityRow& row) {
    const CopyDetail& detail = copy_of(row);
    with_shared(row, memsets_, detail.value, row.bytes, unless_zero(row.graph_node), memory_kind(detail.target_memory),
                unless_zero(row.graph));
  }

  Export& out_;
  const Timeline& timeline_;
  Insert kernels_, copies_, memsets_, graphs_;
  std::int64_t grid_id_ = 0;
  std::unordered_map<std::uint32_t, std::int64_t> short_names_;  // of full names that bring none
};

}  // namespace

void write_calls(Export& out) {
  const Timeline& timeline = out.timeline;
  Insert insert(out.output, "CUPTI_ACTIVITY_KIND_RUNTIME",
                {"start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"});
  const CallTable& calls = timeline.calls;
  for (CallIndex call{0}; call < calls.size(); ++call) {
    insert.row(out.time(calls.begin_ns[call]), out.time(calls.end_ns[call]),
               calls.domain[call] == CallDomain::kDriver ? 1 : 0, out.ids.thread(calls.thread[call]),
               calls.correlation[call], out.strings.id(calls.name[call]), calls.result[call]);
  }
  // Which thread launched an activity stands in no other table than that of calls.
  const LaunchTable& launches = timeline.launches;
  for (LaunchIndex launch{0}; launch < launches.size(); ++launch) {
    if (launches.call[launch] != kNone || launches.source[launch] == LaunchSource::kUnknown) continue;
    const std::int64_t time = out.time(launches.time_ns[launch]);
    insert.row(time, time, 0, out.ids.thread(launches.thread[launch]), launches.correlation[launch],
               out.strings.id("launch (call not recorded)"), 0);
  }
}

void write_activities(Export& out) { ActivityRows(out).write(); }

void write_syncs(Export& out) {
  const Timeline& timeline = out.timeline;
  Insert insert(out.output, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                {"start", "end", "deviceId", "contextId", "greenContextId", "streamId", "correlationId", "globalPid",
                 "syncType", "eventId"});
  for (std::size_t i = 0; i < timeline.syncs.size(); ++i) {
    const SyncRow row = timeline.syncs.row(i);
    StreamInfo stream;
    stream.id = kNoStream;
    if (row.stream != kNone) stream = timeline.streams[row.stream];
    const DeviceIndex at = row.stream != kNone ? stream.device : row.device;
    if (at == kNone) continue;  // of no process
    const DeviceInfo& device = timeline.devices[at];
    insert.row(out.time(row.begin_ns), out.time(row.end_ns), device.id, stream.context, stream.green_context, stream.id,
               row.correlation, out.ids.process(device.process), row.type, 0);
  }
}

}  // namespace rangefinder::nsight_export
